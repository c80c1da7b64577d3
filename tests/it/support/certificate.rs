//! A certificate of our own making, in files.

use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

/// A self-signed certificate and its key.
pub struct Certificate {
    folder: TempDir,
}

impl Certificate {
    /// For one name or address.
    pub fn new(name: &str) -> Self {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).expect("a plain certificate");
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("cert.pem"), made.cert.pem()).expect("the folder is ours");
        std::fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem()).expect("the folder is ours");
        Self { folder }
    }

    pub fn cert(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    pub fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// `streamSettings` of an inbound that shows it.
    pub fn inbound_stream(&self) -> Value {
        json!({
            "security": "tls",
            "tlsSettings": {"certificates": [{"certificateFile": self.cert(), "keyFile": self.key()}]},
        })
    }
}
