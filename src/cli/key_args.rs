//! The flags of the verbs that make keys and certificates. Their spellings are Xray's, since panels call them so.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

pub const X25519: &str = "\
Examples:
  etemenanki x25519                       a new pair, for REALITY or VLESS encryption
  etemenanki x25519 -i PRIVATEKEY         the public key of a private one
  etemenanki x25519 --legacy-labels       in the words of old Xray, which Marzban reads

The private key stays on the server; clients get the public key, which REALITY calls password.";

pub const MLKEM768: &str = "\
Examples:
  etemenanki mlkem768                     a new pair, for VLESS encryption
  etemenanki mlkem768 -i SEED             the client's key of a seed";

pub const MLDSA65: &str = "\
Examples:
  etemenanki mldsa65                      a new pair, for REALITY's mldsa65Seed and mldsa65Verify
  etemenanki mldsa65 -i SEED              what verifies the signatures of a seed";

pub const VLESSENC: &str = "\
Example:
  etemenanki vlessenc                     two pairs of texts: `decryption` goes to the server, `encryption` to its clients";

pub const WG: &str = "\
Examples:
  etemenanki wg                           a new pair, for WireGuard
  etemenanki wg -i PRIVATEKEY             the public key of a private one";

pub const TLS: &str = "\
Examples:
  etemenanki tls cert --domain example.com --file example
                                          a certificate of its own; also written to example.crt and example.key
  etemenanki tls cert --ca --name \"My authority\" --expire 8760h
  etemenanki tls hash --cert fullchain.pem
                                          what pinnedPeerCertSha256 is to hold
  etemenanki tls ech --serverName example.com
                                          what echServerKeys and echConfigList are to hold";

/// Flags of `x25519`.
#[derive(Debug, Args)]
pub struct Pair {
    /// Private key to go by, in base64
    #[arg(short = 'i', long = "i", value_name = "KEY")]
    pub input: Option<String>,
    /// Keys in base64 with + and / and padding, not in the form for URLs
    #[arg(long)]
    pub std_encoding: bool,
    /// Print `Private key:` and `Public key:`, as Xray did before 2025
    #[arg(long)]
    pub legacy_labels: bool,
}

/// Flag of `wg`.
#[derive(Debug, Args)]
pub struct Key {
    /// Private key to go by, in base64
    #[arg(short = 'i', long = "i", value_name = "KEY")]
    pub input: Option<String>,
}

/// Flag of `mlkem768` and `mldsa65`.
#[derive(Debug, Args)]
pub struct Seed {
    /// Seed to go by, in base64
    #[arg(short = 'i', long = "i", value_name = "SEED")]
    pub input: Option<String>,
}

/// What `tls` can do.
#[derive(Debug, Subcommand)]
pub enum Tls {
    /// Make a certificate that signs itself, and its key
    Cert(Cert),
    /// Print the SHA-256 of each certificate in a file
    Hash {
        /// File with certificates, PEM or DER
        #[arg(long, value_name = "FILE", default_value = "fullchain.pem", value_hint = ValueHint::FilePath)]
        cert: PathBuf,
    },
    /// Make keys for encrypted client hellos
    Ech(Ech),
}

/// Flags of `tls cert`.
#[derive(Debug, Args)]
pub struct Cert {
    /// Name it is for; may be given several times
    #[arg(long, value_name = "NAME")]
    pub domain: Vec<String>,
    /// Common name
    #[arg(long, value_name = "NAME", default_value = "Xray Inc")]
    pub name: String,
    /// Organisation
    #[arg(long, value_name = "NAME", default_value = "Xray Inc")]
    pub org: String,
    /// It may sign others
    #[arg(long)]
    pub ca: bool,
    /// Print it as JSON, with lines as `certificates` of tlsSettings takes them; --json=false prints nothing
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "true",
        default_missing_value = "true", action = clap::ArgAction::Set)]
    pub json: bool,
    /// Also write FILE.crt and FILE.key
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// How long it counts
    #[arg(long, value_name = "TIME", default_value = "2160h")]
    pub expire: String,
}

/// Flags of `tls ech`.
#[derive(Debug, Args)]
pub struct Ech {
    /// Name that hellos show instead of their own
    #[arg(long = "serverName", alias = "server-name", value_name = "NAME", default_value = "cloudflare-ech.com")]
    pub server_name: String,
    /// Print PEM
    #[arg(long)]
    pub pem: bool,
    /// Server keys to go by, in base64
    #[arg(short = 'i', long = "i", value_name = "KEYS")]
    pub input: Option<String>,
}
