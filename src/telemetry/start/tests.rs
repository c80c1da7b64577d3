#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

struct Logs {
    folder: tempfile::TempDir,
    telemetry: Telemetry,
}

impl Logs {
    fn start(threshold: Threshold) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let telemetry = Telemetry::start(&setup(&folder, threshold, "error.log")).unwrap();
        Self { folder, telemetry }
    }

    fn say(&self, what: impl FnOnce()) {
        tracing::dispatcher::with_default(&self.telemetry.dispatch(), what);
        self.telemetry.flush();
    }

    /// The lines of a log without their times, whose shape is checked.
    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        text.lines()
            .map(|line| {
                let (time, rest) = line.split_at(27);
                let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
                assert_eq!(shape, "0000/00/00 00:00:00.000000 ");
                rest.to_owned()
            })
            .collect()
    }
}

fn file(folder: &tempfile::TempDir, name: &str) -> Sink {
    Sink::File(folder.path().join(name).display().to_string())
}

fn setup(folder: &tempfile::TempDir, threshold: Threshold, error: &str) -> Setup {
    Setup { threshold, error: file(folder, error), access: file(folder, "access.log"), names: false, mask: None }
}

#[test]
fn lines_have_level_flow_module_and_error() {
    let logs = Logs::start(Threshold::Info);
    logs.say(|| {
        tracing::warn!(target: "core", "Xray 26.7.28 started");
        tracing::debug!("not said");
        tracing::info!(target: "etemenanki::engine::dispatch", flow = 7u64, tag = "a", error = %io::Error::other("gone"), "moved");
        let span = tracing::info_span!("flow", id = 9u64);
        span.in_scope(|| tracing::error!(target: "etemenanki::net", "broken"));
        tracing::info!(target: "h2::codec", "frames of others");
    });
    let want = [
        "[Warning] core: Xray 26.7.28 started",
        "[Info] [7] engine/dispatch: moved tag=a > gone",
        "[Error] [9] net: broken",
    ];
    assert_eq!(logs.lines("error.log"), want);
}

#[test]
fn access_lines_have_xrays_form() {
    let logs = Logs::start(Threshold::Warning);
    logs.say(|| {
        tracing::info!(target: "access", from = "tcp:127.0.0.1:5", verdict = "accepted", to = %"tcp:example.com:443",
            inbound = "in", arrow = ">>", outbound = "out", email = "love@example.com");
        tracing::info!(target: "access", from = "127.0.0.1:5", verdict = "rejected", to = "tcp:x:1", reason = "no rule");
        tracing::info!(target: "access", from = "127.0.0.1:5", verdict = "accepted", to = "tcp:x:1", outbound = "out");
    });
    let want = [
        "from tcp:127.0.0.1:5 accepted tcp:example.com:443 [in >> out] email: love@example.com",
        "from 127.0.0.1:5 rejected tcp:x:1 no rule",
        "from 127.0.0.1:5 accepted tcp:x:1 [out]",
    ];
    assert_eq!(logs.lines("access.log"), want);
    assert!(logs.lines("error.log").is_empty());
}

#[test]
fn names_are_said_where_they_are_wanted() {
    let logs = Logs::start(Threshold::Warning);
    let speak = || logs.say(|| tracing::info!(target: "access::dns", "a got answer: b. -> [{}]\n", "10.0.0.1"));
    speak();
    assert!(logs.lines("access.log").is_empty());
    let wanted = Setup { names: true, ..setup(&logs.folder, Threshold::Error, "error.log") };
    logs.telemetry.apply(&wanted).unwrap();
    speak();
    assert_eq!(logs.lines("access.log"), ["a got answer: b. -> [10.0.0.1]\\n"]);
    logs.telemetry.apply(&Setup { access: Sink::Off, ..wanted.clone() }).unwrap();
    speak();
    logs.telemetry.apply(&Setup { threshold: Threshold::None, ..wanted }).unwrap();
    speak();
    assert_eq!(logs.lines("access.log").len(), 1);
    assert!(logs.lines("error.log").is_empty());
}

#[test]
fn what_peers_send_stays_within_one_line() {
    let logs = Logs::start(Threshold::Info);
    logs.say(|| tracing::info!("{}\n2006/01/02 forged\u{1b}[2J {}", "name", "x".repeat(9000)));
    let lines = logs.lines("error.log");
    assert_eq!(lines.len(), 1);
    assert!(lines[0].contains("name\\n2006/01/02 forged\\u{1b}[2J x"), "{}", &lines[0][..120]);
    assert!(lines[0].len() < 5000);
}

#[test]
fn files_are_private_appended_and_found_again() {
    let logs = Logs::start(Threshold::Info);
    let (path, moved) = (logs.folder.path().join("error.log"), logs.folder.path().join("error.log.1"));
    logs.say(|| tracing::info!("one"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fs::rename(&path, &moved).unwrap();
    logs.say(|| tracing::info!("two"));
    let again = Telemetry::start(&setup(&logs.folder, Threshold::Info, "error.log")).unwrap();
    tracing::dispatcher::with_default(&again.dispatch(), || tracing::info!("three"));
    drop(again);
    let end =
        |lines: Vec<String>| lines.into_iter().map(|l| l.rsplit(' ').next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(end(logs.lines("error.log.1")), ["one"]);
    assert_eq!(end(logs.lines("error.log")), ["two", "three"]);
}

#[test]
fn settings_change_while_it_runs() {
    let logs = Logs::start(Threshold::Warning);
    let speak = |text: &str| logs.say(|| tracing::info!("{text}"));
    speak("a");
    logs.telemetry.set_threshold(Threshold::Info);
    speak("b");
    let mut next = setup(&logs.folder, Threshold::Info, "other.log");
    next.mask = Mask::parse("full");
    logs.telemetry.apply(&next).unwrap();
    logs.telemetry.flush();
    speak("10.0.0.1");
    let bad = setup(&logs.folder, Threshold::None, "no/such/folder.log");
    assert!(logs.telemetry.apply(&bad).unwrap_err().to_string().starts_with("cannot open the log file "));
    speak("c");
    logs.telemetry.set_threshold(Threshold::None);
    speak("d");
    assert_eq!(logs.lines("error.log"), ["[Info] telemetry/start/tests: b"]);
    let want = ["[Info] telemetry/start/tests: [Masked IPv4]", "[Info] telemetry/start/tests: c"];
    assert_eq!(logs.lines("other.log"), want);
}

#[test]
fn settings_follow_the_model() {
    let mut log = Log { level: Level::Debug, mask_address: "half".to_owned(), ..Log::default() };
    let setup = Setup::of(&log).unwrap();
    assert_eq!((setup.threshold, setup.mask), (Threshold::Debug, Mask::parse("half")));
    assert_eq!((setup.error, setup.access), (Sink::Stdout, Sink::Off));
    log.mask_address = "third".to_owned();
    assert!(Setup::of(&log).unwrap_err().to_string().contains("\"third\""));
}

#[test]
fn a_reader_that_is_stuck_costs_lines_and_no_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    // Opened for both ends, so that opening for writing does not wait for a reader.
    let mut reader = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut stuck = setup(&folder, Threshold::Info, "pipe");
    stuck.access = Sink::Off;
    let telemetry = Telemetry::start(&stuck).unwrap();
    let line = "x".repeat(1000);
    tracing::dispatcher::with_default(&telemetry.dispatch(), || (0..5000).for_each(|_| tracing::info!("{line}")));
    drop(telemetry);

    let told = std::thread::spawn(move || {
        let mut text = Vec::new();
        let mut chunk = [0; 65536];
        while !String::from_utf8_lossy(&text).contains("were dropped") {
            let count = io::Read::read(&mut reader, &mut chunk).unwrap();
            text.extend_from_slice(&chunk[..count]);
        }
        text.len()
    });
    assert!(told.join().unwrap() < 3 << 20);
}
