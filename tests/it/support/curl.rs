//! curl: the client that most people have.

use std::process::Command;

use super::process::program;

/// What a run of curl gave.
pub struct Answer {
    pub ok: bool,
    pub body: Vec<u8>,
    pub complaint: String,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Runs curl without any proxy of the environment or the user's own settings.
pub fn curl(args: &[&str]) -> Answer {
    let mut command = Command::new(program("curl"));
    command.args(["--disable", "--silent", "--show-error", "--max-time", "20"]).args(args);
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command.env_remove(name);
    }
    let output = command.output().expect("curl runs");
    Answer {
        ok: output.status.success(),
        body: output.stdout,
        complaint: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
