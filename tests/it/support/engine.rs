//! The program under test, run as a user runs it.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use super::ports::{PATIENCE, until};
use super::process::Process;

/// A running engine.
pub struct Engine {
    pub process: Process,
}

impl Engine {
    /// `etemenanki run -c NAME` in a folder of its own; waits until every port of `ports` accepts.
    pub fn start(name: &str, config: &str, ports: &[u16]) -> Self {
        Self::started_by(&["run", "-c", name], &[(name, config)], b"", ports)
    }

    /// With these arguments, these files in its working folder and this on standard input.
    pub fn started_by(args: &[&str], files: &[(&str, &str)], input: &[u8], ports: &[u16]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_etemenanki"));
        command.args(args);
        Self::of(command, None, files, input, ports)
    }

    /// `etemenanki run -c NAME` on a machine whose system trusts one more authority, or none but that.
    pub fn trusting(authority: &Path, name: &str, config: &str, ports: &[u16]) -> Self {
        Self::trusting_with(authority, name, &[(name, config)], ports)
    }

    /// The same with these files in its working folder.
    pub fn trusting_with(authority: &Path, name: &str, files: &[(&str, &str)], ports: &[u16]) -> Self {
        // The shell becomes the program, so the process is still the one that was started.
        let mut command = Command::new("/bin/sh");
        let script = format!("SSL_CERT_FILE='{}' exec \"$0\" run -c \"$1\"", authority.display());
        command.args(["-c", &script, env!("CARGO_BIN_EXE_etemenanki"), name]);
        Self::of(command, None, files, b"", ports)
    }

    /// The same with geodata files that lie elsewhere.
    pub fn with_assets(assets: &Path, config: &str, ports: &[u16]) -> Self {
        let mut command = Command::new("/bin/sh");
        let script = format!("XRAY_LOCATION_ASSET='{}' exec \"$0\" run -c config.json", assets.display());
        command.args(["-c", &script, env!("CARGO_BIN_EXE_etemenanki")]);
        Self::of(command, None, &[("config.json", config)], b"", ports)
    }

    /// Waits until it takes datagrams at this port, for one that takes nothing else there.
    pub fn wait_to_take(&mut self, port: u16) {
        let takes = self.process.wait_to_take(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        assert!(takes, "etemenanki ends by itself:\n{}", self.output());
    }

    /// With a TOML config, and `runtime` for the folder in which its control socket is found.
    pub fn within(runtime: &Path, config: &str, ports: &[u16]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_etemenanki"));
        command.args(["run", "-c", "config.toml"]);
        let engine = Self::of(command, Some(runtime), &[("config.toml", config)], b"", ports);
        // Ports accept before the socket is there.
        engine.process.wait_to_say(" started");
        engine
    }

    fn of(mut command: Command, runtime: Option<&Path>, files: &[(&str, &str)], input: &[u8], ports: &[u16]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a file below the folder")).expect("the folder is ours");
            std::fs::write(path, text).expect("the folder is ours");
        }
        // The least that any caller gives: no HOME, PATH, TZ or TERM. Its runtime folder is its own, so that whoever looks for
        // the only engine of this user does not find those of other tests.
        command.current_dir(folder.path()).env_clear().env("XRAY_LOCATION_ASSET", folder.path());
        command.env("XDG_RUNTIME_DIR", runtime.unwrap_or_else(|| folder.path()));
        let mut process = Process::fed("etemenanki", command, folder, input);
        for port in ports {
            let listens = process.wait_to_listen(SocketAddr::from((Ipv4Addr::LOCALHOST, *port)));
            assert!(listens, "etemenanki ends by itself:\n{}", process.output());
        }
        Self { process }
    }

    /// The same for an Xray JSON config.
    pub fn json(config: &serde_json::Value, ports: &[u16]) -> Self {
        Self::start("config.json", &config.to_string(), ports)
    }

    /// The same for an Xray JSON config, in a process that may open no more than `files` files.
    pub fn limited(files: u64, config: &serde_json::Value, ports: &[u16]) -> Self {
        // The shell becomes the program, so the process is still the one that was started.
        let script = format!("ulimit -n {files} && exec \"$0\" \"$@\"");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_etemenanki"), "run", "-c", "config.json"]);
        Self::of(command, None, &[("config.json", &config.to_string())], b"", ports)
    }

    /// The same for a TOML config.
    pub fn toml(config: &str, ports: &[u16]) -> Self {
        Self::start("config.toml", config, ports)
    }

    pub fn output(&self) -> String {
        self.process.output()
    }

    /// Ends it as a service manager does.
    pub fn stop(mut self) -> (ExitStatus, String) {
        self.process.signal(Signal::TERM);
        let status = self.process.wait(PATIENCE);
        (status, self.process.output())
    }
}

/// Runs the program to its end with nothing on standard input.
pub fn run_once(args: &[&str]) -> Output {
    run_once_in(Path::new("."), args, b"")
}

/// Runs the program to its end in `folder`, with `input` on standard input; fails if it does not end by itself.
pub fn run_once_in(folder: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_etemenanki"));
    command.args(args).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program under test starts");
    let mut stdin = child.stdin.take().expect("standard input is piped");
    let input = input.to_vec();
    // On a thread of its own: a program that never reads must not hold the test. A refused write is the program's right.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let pid = child.id();
    let waiter = std::thread::spawn(move || child.wait_with_output());
    if until(PATIENCE + Duration::from_secs(10), || waiter.is_finished().then_some(())).is_none() {
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).expect("a child has a pid");
        let _ = rustix::process::kill_process(pid, Signal::KILL);
        panic!("etemenanki {args:?} does not end");
    }
    let _ = writer.join();
    waiter.join().expect("the waiting thread does not fail").expect("the output can be read")
}
