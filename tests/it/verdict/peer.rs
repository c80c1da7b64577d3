//! A running program that routes, and what it said of each flow.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::sample::{Around, Sample};
use crate::support::{Process, free_port, program, until};

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Ours,
    V2ray,
    Xray,
}

/// Where Xray is, if somebody says so.
pub fn xray() -> Option<PathBuf> {
    std::env::var_os("XRAY_BIN").map(PathBuf::from)
}

/// One of them with a sample's config.
pub struct Peer {
    process: Process,
    pub doors: [SocketAddr; 4],
}

const ACCESS: &str = "access.log";

/// For lines on their way to the file.
const GRACE: Duration = Duration::from_millis(300);

impl Peer {
    pub fn start(who: Who, sample: &Sample, around: Around) -> Self {
        let doors = [(); 4].map(|()| free_port());
        let folder: TempDir = tempfile::tempdir().expect("a temporary folder");
        let access = folder.path().join(ACCESS);
        let config = sample.config(&doors, around, &access.to_string_lossy(), who == Who::V2ray);
        std::fs::write(folder.path().join("c.json"), config.to_string()).expect("the folder is ours");
        let geo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/geo");
        let mut command = match who {
            Who::Ours => Command::new(env!("CARGO_BIN_EXE_etemenanki")),
            Who::V2ray => Command::new(program("v2ray")),
            Who::Xray => Command::new(xray().expect("somebody named it")),
        };
        command.args(if who == Who::V2ray { &["-config", "c.json"][..] } else { &["run", "-c", "c.json"] });
        command.current_dir(folder.path()).env("XRAY_LOCATION_ASSET", geo).env("V2RAY_LOCATION_ASSET", geo);
        command.env("XDG_RUNTIME_DIR", folder.path());
        let mut process = Process::start(&format!("{who:?}"), command, folder);
        let doors = doors.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        for door in doors {
            assert!(process.wait_to_listen(door), "{who:?} ends by itself:\n{}", process.output());
        }
        Self { process, doors }
    }

    /// The outbound of each flow that was accepted, once there are as many as there should be, or no more come.
    pub fn verdicts(&self, wanted: &[SocketAddr]) -> HashMap<SocketAddr, String> {
        let path = self.process.folder.path().join(ACCESS);
        let read = || verdicts(&std::fs::read_to_string(&path).unwrap_or_default());
        let all = || {
            let verdicts = read();
            wanted.iter().all(|source| verdicts.contains_key(source)).then_some(verdicts)
        };
        until(GRACE, all).unwrap_or_else(read)
    }
}

/// Lines are `… SOURCE accepted TARGET [OUT]` or `[IN -> OUT]`, with other arrows.
fn verdicts(log: &str) -> HashMap<SocketAddr, String> {
    let verdict = |line: &str| {
        let (before, after) = line.split_once(" accepted ")?;
        let source = before.rsplit(' ').next()?;
        let source = source.strip_prefix("tcp:").or_else(|| source.strip_prefix("udp:")).unwrap_or(source);
        let way = after.rsplit_once('[')?.1.split_once(']')?.0;
        Some((source.parse().ok()?, way.rsplit(' ').next()?.to_owned()))
    };
    log.lines().filter_map(verdict).collect()
}

#[test]
fn lines_of_all_three_are_read() {
    let log = "2026/12/01 04:22:27 tcp:127.0.0.1:43036 accepted tcp:a.example:81 [o1]\n\
               2026/12/01 04:22:28 127.0.0.1:32996 accepted http://foo.bar/x [in -> o2] email: love\n\
               2026/12/01 04:22:28 from udp:127.0.0.1:5 accepted udp:[::1]:53 [in >> o3]\n\
               2026/12/01 04:22:28 from 127.0.0.1:6 rejected  proxy/socks: no\n";
    let found = verdicts(log);
    let at = |port| found.get(&SocketAddr::from((Ipv4Addr::LOCALHOST, port))).map(String::as_str);
    assert_eq!([at(43036), at(32996), at(5), at(6)], [Some("o1"), Some("o2"), Some("o3"), None]);
}
