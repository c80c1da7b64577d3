//! dante: a SOCKS4 and SOCKS5 server with UDP.

use std::process::Command;

use super::process::{Peer, program};

/// A SOCKS server without login that reaches loopback alone.
pub fn danted() -> Peer {
    Peer::start("danted", |port, folder| {
        let config = folder.join("danted.conf");
        let text = format!(
            "logoutput: stdout\n\
             internal: 127.0.0.1 port = {port}\n\
             external: 127.0.0.1\n\
             clientmethod: none\n\
             socksmethod: none\n\
             client pass {{ from: 127.0.0.0/8 to: 127.0.0.0/8 }}\n\
             socks pass {{ from: 127.0.0.0/8 to: 0.0.0.0/0 }}\n"
        );
        std::fs::write(&config, text).expect("the folder is ours");
        let mut command = Command::new(program("danted"));
        command.arg("-f").arg(config).arg("-p").arg(folder.join("pid"));
        command
    })
}
