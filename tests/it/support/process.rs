//! One running program: its output is kept, and it ends with the value.

use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::ports::{PATIENCE, free_port, until};

/// A child process, its output in a file (a pipe that nobody reads would stop it), killed on drop.
pub struct Process {
    name: String,
    child: Child,
    output: PathBuf,
    /// Holds the output and whatever else the program was given.
    pub folder: TempDir,
}

/// A program that serves on one loopback port.
pub struct Peer {
    pub process: Process,
    pub addr: SocketAddr,
}

/// Where a peer program is. What is missing fails the test: a test that skips itself proves nothing.
pub fn program(name: &str) -> PathBuf {
    // Beside the binary under test: `target/debug/etemenanki` and `target/peers`.
    let own = Path::new(env!("CARGO_BIN_EXE_etemenanki")).ancestors().nth(2).map(|target| target.join("peers"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = own.into_iter().chain(std::env::split_paths(&path)).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
        .unwrap_or_else(|| panic!("{name} is not installed: `sh tests/run.sh` installs it"))
}

impl Process {
    /// Starts `command`; `folder` is its own folder, removed with it.
    pub fn start(name: &str, command: Command, folder: TempDir) -> Self {
        Self::fed(name, command, folder, b"")
    }

    /// The same with `input` on standard input, which then ends.
    pub fn fed(name: &str, mut command: Command, folder: TempDir, input: &[u8]) -> Self {
        let output = folder.path().join("output");
        let file = File::create(&output).expect("the folder is ours");
        let again = file.try_clone().expect("a file handle can be doubled");
        command.stdin(Stdio::piped()).stdout(file).stderr(again);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        // What a program does not want to read is its own affair.
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input));
        Self { name: name.to_owned(), child, output, folder }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// All it has said so far, both streams.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.output).unwrap_or_default()).into_owned()
    }

    /// The end it came to, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("our own child can be asked")
    }

    /// Waits until it has said `text`; fails with all it said if it does not.
    pub fn wait_to_say(&self, text: &str) {
        let said = until(PATIENCE, || self.output().contains(text).then_some(()));
        assert!(said.is_some(), "{} did not say {text:?}:\n{}", self.name, self.output());
    }

    /// Waits until `addr` accepts; `false` if the program ended first.
    pub fn wait_to_listen(&mut self, addr: SocketAddr) -> bool {
        let listening = until(PATIENCE, || {
            // Asked in this order, since somebody else may have the port on which ours failed.
            let open = TcpStream::connect(addr).is_ok();
            match (self.ended(), open) {
                (Some(_), _) => Some(false),
                (None, true) => Some(true),
                (None, false) => None,
            }
        });
        listening.unwrap_or_else(|| panic!("{} does not listen on {addr}:\n{}", self.name, self.output()))
    }

    /// Waits until somebody takes datagrams at `addr`; `false` if the program ended first.
    pub fn wait_to_take(&mut self, addr: SocketAddr) -> bool {
        let taking = until(PATIENCE, || match (self.ended(), takes(addr)) {
            (Some(_), _) => Some(false),
            (None, true) => Some(true),
            (None, false) => None,
        });
        taking.unwrap_or_else(|| panic!("{} takes no datagrams at {addr}:\n{}", self.name, self.output()))
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a child has a pid");
        kill_process(pid, signal).expect("our own child can be signalled");
    }

    /// Ends it without a chance to tidy up.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for its end; fails if it takes longer than `limit`.
    pub fn wait(&mut self, limit: Duration) -> ExitStatus {
        until(limit, || self.ended()).unwrap_or_else(|| panic!("{} still runs:\n{}", self.name, self.output()))
    }
}

/// Whether a datagram to a port of loopback is taken: where it is not, the kernel says so to whoever sends the next.
fn takes(addr: SocketAddr) -> bool {
    let asked = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| {
        socket.connect(addr)?;
        socket.send(&[0])?;
        socket.send(&[0])
    });
    asked.is_ok()
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Peer {
    /// Starts what `make` describes for a port, tried again should somebody take the port in between.
    pub fn start(name: &str, mut make: impl FnMut(u16, &Path) -> Command) -> Self {
        let mut last = String::new();
        for _ in 0..3 {
            let port = free_port();
            let folder = tempfile::tempdir().expect("a temporary folder");
            let command = make(port, folder.path());
            let mut process = Process::start(name, command, folder);
            let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            if process.wait_to_listen(addr) {
                return Self { process, addr };
            }
            last = process.output();
        }
        panic!("{name} ends by itself:\n{last}");
    }

    /// Starts it where it was before.
    pub fn start_at(name: &str, port: u16, make: impl Fn(u16, &Path) -> Command) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let command = make(port, folder.path());
        let mut process = Process::start(name, command, folder);
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        assert!(process.wait_to_listen(addr), "{name} ends by itself:\n{}", process.output());
        Self { process, addr }
    }

    pub fn port(&self) -> u16 {
        self.addr.port()
    }
}
