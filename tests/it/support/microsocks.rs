//! microsocks: a small SOCKS5 server.

use std::process::Command;

use super::process::{Peer, program};

/// A SOCKS5 server, open or for one user with a password.
pub fn microsocks(login: Option<(&str, &str)>) -> Peer {
    Peer::start("microsocks", |port, _| {
        let mut command = Command::new(program("microsocks"));
        command.args(["-i", "127.0.0.1", "-p", &port.to_string()]);
        if let Some((user, password)) = login {
            command.args(["-u", user, "-P", password]);
        }
        command
    })
}
