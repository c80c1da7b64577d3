//! sing-box: a proxy of many protocols, for both sides of a test.

use std::process::Command;

use serde_json::Value;

use super::process::{Peer, program};

/// Runs the config that `config` makes for a free port; it must open an inbound there.
pub fn sing_box(config: impl Fn(u16) -> Value) -> Peer {
    Peer::start("sing-box", |port, folder| {
        let file = folder.join("sing-box.json");
        std::fs::write(&file, config(port).to_string()).expect("the folder is ours");
        let mut command = Command::new(program("sing-box"));
        command.arg("run").arg("-c").arg(file).arg("-D").arg(folder);
        command
    })
}
