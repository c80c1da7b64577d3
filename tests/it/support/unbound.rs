//! unbound: a name server that speaks through TLS and HTTP/2.

use std::path::Path;
use std::process::Command;

use super::certificate::Certificate;
use super::process::{Peer, program};

/// How unbound is to be asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Speech {
    /// By TLS.
    Tls,
    /// By HTTP/2 in TLS.
    Https,
    /// By HTTP/2 alone.
    Plain,
}

/// A server that has one name and all below it, and asks nobody; it says what it was asked.
pub fn unbound(speech: Speech, certificate: &Certificate, name: &str, ip: &str) -> Peer {
    Peer::start("unbound", |port, folder| command(port, folder, speech, certificate, name, ip))
}

/// The same on a port that another one had.
pub fn unbound_at(port: u16, speech: Speech, certificate: &Certificate, name: &str, ip: &str) -> Peer {
    Peer::start_at("unbound", port, |port, folder| command(port, folder, speech, certificate, name, ip))
}

fn command(port: u16, folder: &Path, speech: Speech, shown: &Certificate, name: &str, ip: &str) -> Command {
    let speech = match speech {
        Speech::Tls => format!("tls-port: {port}"),
        Speech::Https => format!("https-port: {port}"),
        Speech::Plain => format!("https-port: {port}\n  http-notls-downstream: yes"),
    };
    let text = format!(
        "server:\n  interface: 127.0.0.1@{port}\n  {speech}\n  http-endpoint: \"/dns-query\"\n  do-udp: no\n  \
         tls-service-key: \"{key}\"\n  tls-service-pem: \"{cert}\"\n  directory: \"{folder}\"\n  chroot: \"\"\n  \
         username: \"\"\n  pidfile: \"\"\n  use-syslog: no\n  logfile: \"\"\n  log-queries: yes\n  do-daemonize: no\n  \
         module-config: \"iterator\"\n  local-zone: \"{name}.\" redirect\n  local-data: \"{name}. 60 IN A {ip}\"\n\
         remote-control:\n  control-enable: no\n",
        key = shown.key().display(),
        cert = shown.cert().display(),
        folder = folder.display(),
    );
    let config = folder.join("unbound.conf");
    std::fs::write(&config, text).expect("the folder is ours");
    let mut command = Command::new(program("unbound"));
    command.args(["-d", "-c"]).arg(config);
    command
}
