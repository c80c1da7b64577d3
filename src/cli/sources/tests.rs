#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use super::*;

/// A folder with these files and folders (a name that ends with `/`).
fn folder(names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        let path = folder.path().join(name);
        if name.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        }
    }
    folder
}

/// Names below `folder` and notes of a choice.
fn chosen(folder: &Path, run: &Run, env: &[(&str, &str)], terminal: bool) -> Result<Vec<String>, String> {
    let env = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let place = Place { env: &env, folder, program: None, terminal };
    let (names, _) = choose(run, &place).map_err(|error| error.to_string())?;
    Ok(names.iter().map(|name| name.strip_prefix(folder).unwrap_or(name).display().to_string()).collect())
}

#[test]
fn named_files_come_first_then_the_folder_in_byte_order() {
    let at = folder(&["d/b.json", "d/a.toml", "d/B.json", "d/c.JSON", "d/x.txt", "d/sub.json/", "d/z.yml"]);
    let mut run = Run { confdir: Some("d".into()), ..Run::default() };
    assert_eq!(chosen(at.path(), &run, &[], true).unwrap(), ["d/B.json", "d/a.toml", "d/b.json", "d/z.yml"]);
    run.config = vec!["one.json".into()];
    run.format = Some("json".into());
    assert_eq!(chosen(at.path(), &run, &[], true).unwrap(), ["one.json", "d/B.json", "d/b.json"]);
}

#[test]
fn a_missing_folder_is_a_fault_only_when_it_is_all_there_is() {
    let at = folder(&["e/a.json", "empty/"]);
    let mut run = Run { confdir: Some("gone".into()), ..Run::default() };
    assert!(chosen(at.path(), &run, &[], false).unwrap_err().starts_with("cannot read the folder "));
    assert_eq!(chosen(at.path(), &run, &[("XRAY_LOCATION_CONFDIR", "e")], false).unwrap(), ["e/a.json"]);
    run.config = vec!["one.json".into()];
    assert_eq!(chosen(at.path(), &run, &[], false).unwrap(), ["one.json"]);
    let empty = Run { confdir: Some("empty".into()), ..Run::default() };
    assert!(chosen(at.path(), &empty, &[], false).unwrap_err().contains("holds no configuration"));
}

#[test]
fn without_names_the_usual_places_are_looked_at() {
    let run = Run::default();
    let at = folder(&["config.toml", "config.yaml", "env/config.json", "confs/a.json"]);
    assert_eq!(chosen(at.path(), &run, &[], true).unwrap(), ["config.toml"]);
    assert_eq!(chosen(at.path(), &run, &[("xray.location.confdir", "confs")], true).unwrap(), ["confs/a.json"]);
    let bare = folder(&["env/config.json"]);
    let env = bare.path().join("env").display().to_string();
    assert_eq!(chosen(bare.path(), &run, &[("V2RAY_LOCATION_CONFIG", &env)], true).unwrap(), ["env/config.json"]);
    assert_eq!(chosen(bare.path(), &run, &[], false).unwrap(), ["stdin:"]);
    assert!(chosen(bare.path(), &run, &[], true).unwrap_err().contains("etemenanki demo"));
}

#[test]
fn what_is_no_configuration_is_told_apart() {
    let at = folder(&["d/"]);
    let error = |path: &Path| read(path).unwrap_err();
    assert!(matches!(error(&at.path().join("d")), SourceError::Folder(_)));
    assert!(matches!(error(&at.path().join("gone.json")), SourceError::Read { .. }));
    let large = at.path().join("large.json");
    File::create(&large).unwrap().set_len(200 << 20).unwrap();
    assert!(error(&large).to_string().contains("is larger than 64 MiB"));
    assert!(matches!(error(Path::new("/dev/zero")), SourceError::TooLarge(_)));
}

#[test]
fn names_that_are_fetched() {
    let text = |argument| endpoint(argument).map(|endpoint| endpoint.to_string());
    assert_eq!(text("https://u:secret@host/c.json?token=T").unwrap(), "https://host/c.json");
    assert_eq!(text("@name:/internal/get-config?token=T").unwrap(), "@name:/internal/get-config");
    assert_eq!(text("@@name").unwrap(), "@@name:/");
    assert_eq!(text("http+unix:///run/a.sock/path").unwrap(), "/run/a.sock:/path");
    assert_eq!(text("config.json"), None);
    assert_eq!(text("/etc/xray:/config.json"), None);
}

/// Answers one request with a body that names what was asked.
fn answer_once(listener: UnixListener, status: &'static str) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            request.push(byte[0]);
        }
        let line = String::from_utf8(request).unwrap().lines().next().unwrap().to_owned();
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{line}", line.len()).unwrap();
    })
}

#[test]
fn unix_sockets_of_both_kinds_are_asked() {
    let at = folder(&[]);
    let socket = at.path().join("s.sock");
    let server = answer_once(UnixListener::bind(&socket).unwrap(), "200 OK");
    let argument = format!("{}:/get?token=T", socket.display());
    let text = read(Path::new(&argument)).unwrap();
    assert_eq!(String::from_utf8(text.bytes).unwrap(), "GET /get?token=T HTTP/1.1");
    assert!(!text.name.contains("token"));
    server.join().unwrap();

    let name = format!("etemenanki-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let server = answer_once(UnixListener::bind_addr(&address).unwrap(), "404 Not Found");
    let error = read(Path::new(&format!("@{name}:/x?token=T"))).unwrap_err().to_string();
    assert_eq!(error, format!("cannot fetch @{name}:/x: the answer is 404 Not Found"));
    server.join().unwrap();
}
