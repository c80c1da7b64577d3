//! dnsmasq: a name server.

use std::process::Command;

use super::process::{Peer, program};

/// A server that knows one name and asks nobody; it says what it was asked.
pub fn dnsmasq(name: &str, ip: &str) -> Peer {
    Peer::start("dnsmasq", |port, _| {
        let mut command = Command::new(program("dnsmasq"));
        command.args(["--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--log-queries"]);
        command.args(["--log-facility=-", "--listen-address=127.0.0.1", "--bind-interfaces", "--pid-file=", "--user="]);
        command.args([&format!("--port={port}"), &format!("--address=/{name}/{ip}")]);
        command
    })
}

/// The same with any arguments: what it knows is theirs.
pub fn dnsmasq_knowing(records: &[String]) -> Peer {
    Peer::start("dnsmasq", |port, _| {
        let mut command = Command::new(program("dnsmasq"));
        command.args(["--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--log-queries"]);
        command.args(["--log-facility=-", "--listen-address=127.0.0.1", "--bind-interfaces", "--pid-file=", "--user="]);
        command.arg(format!("--port={port}")).args(records);
        command
    })
}
