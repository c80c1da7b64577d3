//! nginx: an HTTP server that is not ours.

use std::path::Path;
use std::process::Command;

use super::process::{Peer, program};

/// A server of files, with whatever else its `server` block was given.
pub struct Nginx {
    pub peer: Peer,
}

impl Nginx {
    /// Serves `files` (path without leading slash, content); `directives` go into the `server` block.
    pub fn start(files: &[(&str, &[u8])], directives: &str) -> Self {
        Self { peer: Peer::start("nginx", |port, folder| Self::command(port, folder, files, directives)) }
    }

    /// The same on a port that another one had.
    pub fn start_at(port: u16, files: &[(&str, &[u8])], directives: &str) -> Self {
        let command = |port: u16, folder: &Path| Self::command(port, folder, files, directives);
        Self { peer: Peer::start_at("nginx", port, command) }
    }

    fn command(port: u16, folder: &Path, files: &[(&str, &[u8])], directives: &str) -> Command {
        let root = folder.join("root");
        for (path, content) in files {
            let file = root.join(path);
            std::fs::create_dir_all(file.parent().expect("a file below the root")).expect("the folder is ours");
            std::fs::write(file, content).expect("the folder is ours");
        }
        let config = folder.join("nginx.conf");
        std::fs::write(&config, nginx_conf(port, directives)).expect("the folder is ours");
        let mut command = Command::new(program("nginx"));
        command.arg("-p").arg(folder).arg("-c").arg(config).args(["-e", "stderr"]);
        command
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.peer.addr)
    }

    /// What it was asked, one line a request: `METHOD URI STATUS BYTES`.
    pub fn requests(&self) -> Vec<String> {
        let log = self.peer.process.folder.path().join("access");
        std::fs::read_to_string(log).unwrap_or_default().lines().map(str::to_owned).collect()
    }
}

/// One process in the foreground, everything below its own folder.
fn nginx_conf(port: u16, directives: &str) -> String {
    format!(
        "daemon off; master_process off; pid pid;\n\
         events {{ worker_connections 512; }}\n\
         http {{\n\
         log_format short '$request_method $request_uri $status $body_bytes_sent';\n\
         access_log access short;\n\
         client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;\n\
         server {{ listen 127.0.0.1:{port}; root root; {directives} }}\n\
         }}\n"
    )
}
