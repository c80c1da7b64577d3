//! Files that are no configuration, given to the program as a user gives them: it says so in time, in little memory, and
//! with the status that means "do not try again".

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use etemenanki::engine::Engine;
use etemenanki::frontend::{Format, Options, Source, load};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::support::{PATIENCE, until};

/// What came of a run.
struct Told {
    status: Option<i32>,
    said: String,
    /// The most memory it had, in MiB.
    peak: u64,
}

/// Runs `etemenanki ARGS -c FILE` in `folder` and watches its memory. `None` if it does not end.
fn told(folder: &Path, args: &[&str], file: &str) -> Option<Told> {
    let output = folder.join("said");
    let to = std::fs::File::create(&output).expect("the folder is ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_etemenanki"));
    command.args(args).args(["-c", file]).current_dir(folder);
    let again = to.try_clone().expect("a file handle can be doubled");
    let mut child =
        command.stdin(Stdio::null()).stdout(to).stderr(again).spawn().expect("the program under test starts");
    let mut peak = 0;
    let status = until(PATIENCE, || {
        // The high-water mark never falls, so the last look before the end is the one that counts.
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let mark = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let mark = mark.and_then(|mark| mark.trim_end_matches("kB").trim().parse::<u64>().ok());
        peak = peak.max(mark.unwrap_or_default() >> 10);
        child.try_wait().expect("our own child can be asked")
    });
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let said = String::from_utf8_lossy(&std::fs::read(&output).expect("it was made")).into_owned();
    status.map(|status| Told { status: status.code(), said, peak })
}

/// The file is refused by `run` and by `--test`, in `reason`'s words on the last line.
fn refused(folder: &TempDir, file: &str, reason: &str, most: u64) {
    for args in [&["run"][..], &["--test"]] {
        let told = told(folder.path(), args, file).unwrap_or_else(|| panic!("{args:?} {file} does not end"));
        let said = &told.said;
        assert_eq!(told.status, Some(23), "{args:?} {file}: {said}");
        assert!(said.lines().last().unwrap_or_default().contains(reason), "{args:?} {file}: {said}");
        assert!(said.len() < 64 << 10, "{args:?} {file} says {} bytes", said.len());
        assert!(told.peak <= most, "{args:?} {file} takes {} MiB", told.peak);
        for word in ["panic", "internal fault", "overflow"] {
            assert!(!said.contains(word), "{args:?} {file}: {said}");
        }
    }
}

fn folder_with(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).expect("the folder is ours");
    }
    folder
}

#[test]
fn two_hundred_megabytes_are_refused_unread() {
    let folder = folder_with(&[]);
    for name in ["c.json", "c.toml", "c.yaml"] {
        let file = std::fs::File::create(folder.path().join(name)).expect("the folder is ours");
        file.set_len(200 << 20).expect("holes cost no room");
        refused(&folder, name, "is larger than 64 MiB", 64);
    }
    // It has no length to be judged by, so as much is read as a configuration may have.
    refused(&folder, "/dev/zero", "is larger than 64 MiB", 320);
}

#[test]
fn ten_thousand_levels_are_refused_at_the_level_too_many() {
    let deep = |open: &str, close: &str| [open.repeat(10_000), "1".into(), close.repeat(10_000)].concat();
    let files = [
        ("a.json", deep("[", "]"), "nested too deeply"),
        ("b.json", deep("{\"inbounds\":", "}"), "nested too deeply"),
        ("c.json", format!("{{\"outbounds\": [{{\"settings\": {}}}]}}", deep("[", "]")), "nested too deeply"),
        ("half.json", "[".repeat(10_000), "nested too deeply"),
        ("a.toml", format!("a = {}", deep("[", "]")), "recurs"),
        ("b.toml", format!("a = {}", deep("{a = ", "}")), "recurs"),
        ("c.toml", format!("[a{}]", ".a".repeat(10_000)), "recurs"),
        ("d.toml", format!("a{} = 1", ".a".repeat(10_000)), "recurs"),
        ("a.yaml", deep("[", "]"), "recursion"),
        ("b.yaml", deep("{a: ", "}"), "recursion"),
        ("c.yaml", deep("- ", ""), "recursion"),
    ];
    let folder = folder_with(&files.each_ref().map(|(name, text, _)| (*name, text.as_bytes())));
    for (name, _, reason) in &files {
        refused(&folder, name, reason, 128);
    }
}

#[test]
fn what_is_no_text_no_file_or_nothing_at_all() {
    let bomb = (1..12).fold("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, n| {
        let again = vec![format!("*a{}", n - 1); 9].join(", ");
        format!("{text}a{n}: &a{n} [{again}]\n")
    });
    let folder = folder_with(&[
        ("empty.json", b""),
        ("blank.json", b" \n\t\n"),
        ("empty.yaml", b""),
        ("zero.json", &[0; 500]),
        ("zero.toml", &[0; 500]),
        ("zero.yaml", &[0; 500]),
        ("elf.json", b"\x7fELF\x02\x01\x01\0\0\0"),
        ("list.json", b"[1]"),
        ("word.json", b"null"),
        ("bytes.toml", b"[[inbound]]\nprotocol = \"\xff\xfe\"\nport = 1\n"),
        ("bytes.json", b"{\"inbounds\": [{\"protocol\": \"\xff\xfe\", \"port\": 1}]}"),
        ("bytes.yaml", b"inbounds: [{protocol: \"\xff\xfe\", port: 1}]"),
        ("bomb.yaml", bomb.as_bytes()),
    ]);
    std::fs::create_dir(folder.path().join("folder.json")).expect("the folder is ours");
    for (name, reason) in [
        ("empty.json", "empty"),
        ("blank.json", "empty"),
        ("empty.yaml", "empty"),
        ("zero.json", "not a text file"),
        ("zero.toml", "not a text file"),
        ("zero.yaml", "not a text file"),
        ("elf.json", "not a text file"),
        ("list.json", ""),
        ("word.json", ""),
        ("bytes.toml", ""),
        ("bytes.json", ""),
        ("bytes.yaml", ""),
        ("bomb.yaml", "aliases"),
        ("folder.json", "is a folder"),
        ("gone.json", "No such file"),
        ("gone/config.json", "No such file"),
        ("empty.json/config.json", "Not a directory"),
        ("/dev/null", "empty"),
        ("/proc/self/mem", "cannot read"),
    ] {
        refused(&folder, name, reason, 128);
    }
}

#[test]
fn a_pipe_is_read_to_its_end() {
    let folder = folder_with(&[]);
    let pipe = folder.path().join("pipe.json");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    for (text, status) in [(&b"{\"outbounds\": [{\"protocol\": \"freedom\"}]}"[..], 0), (b"{\"outbounds\": ", 23)] {
        let to = pipe.clone();
        let writer = std::thread::spawn(move || {
            std::fs::OpenOptions::new().write(true).open(to).and_then(|mut pipe| pipe.write_all(text))
        });
        let told = told(folder.path(), &["--test"], "pipe.json").expect("it ends");
        assert_eq!(told.status, Some(status), "{}", told.said);
        writer.join().expect("the writer does not fail").expect("all of it is taken");
    }
}

/// All that `--test` does with a text, in this process.
fn digest(bytes: Vec<u8>, format: Format) {
    let source = Source { name: "any".into(), bytes, format: Some(format) };
    let mut loaded = load(vec![source], &Options { strict: false, env: &|_| None });
    let config = loaded.link();
    let shown = etemenanki::frontend::render(&loaded.sources, &loaded.problems, etemenanki::frontend::Colour::Plain);
    assert!(loaded.failed() <= !shown.is_empty(), "what is refused is told");
    if let Some(config) = config {
        let _ = Engine::prepare(config);
    }
}

/// Configurations that use much of what there is.
fn examples() -> Vec<(Vec<u8>, Format)> {
    let mut found = vec![];
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("it is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Some(format) = path.to_str().and_then(Format::of_name) {
                let bytes = std::fs::read(&path).expect("it can be read");
                if bytes.len() < 64 << 10 {
                    found.push((bytes, format));
                }
            }
        }
    }
    assert!(found.len() > 4, "{} examples", found.len());
    found
}

/// One change of a text: where (in parts of its length), what is taken away, and what is put there.
type Change = (f64, usize, &'static str);

fn change() -> impl Strategy<Value = Change> {
    let words = prop::sample::select(vec![
        "",
        "",
        "{",
        "}",
        "[",
        "]",
        "\"",
        ",",
        ":",
        "null",
        "0",
        "-1",
        "1e99",
        "99999999999999999999",
        "0.5",
        "true",
        "\\u0000",
        "\\ud800",
        "\u{feff}",
        "\u{202e}",
        "é",
        "=",
        "\n",
        "#",
        "/*",
        "'''",
        "\"\"\"",
        "&a ",
        "*a",
        "- ",
        "!",
        "~",
        "0-65535",
        "65536",
        "::",
        "/129",
        "regexp:(",
        "domain:",
        "full:",
        "geoip:cn",
        "env:X",
        "\"port\":\"1-\",",
        "tag = ",
        "[[balancer]]\n",
        "\t",
        "\0",
        "0x",
        "inf",
        "nan",
        "1979-05-27",
    ]);
    (0.0..1.0, 0..24_usize, words)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for format in [Format::Json, Format::Toml, Format::Yaml] {
            digest(bytes.clone(), format);
        }
    }

    #[test]
    fn any_damage_is_read_or_refused(
        example in any::<prop::sample::Index>(),
        changes in prop::collection::vec(change(), 1..6),
        other in any::<bool>(),
    ) {
        thread_local! { static EXAMPLES: Vec<(Vec<u8>, Format)> = examples(); }
        let (mut bytes, format) = EXAMPLES.with(|all| all[example.index(all.len())].clone());
        for (place, gone, put) in changes {
            let at = (place * bytes.len() as f64) as usize;
            let end = (at + gone).min(bytes.len());
            bytes.splice(at..end, put.bytes());
        }
        let format = match format {
            Format::Json if other => Format::Yaml,
            format => format,
        };
        digest(bytes, format);
    }
}
