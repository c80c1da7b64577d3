//! The verbs that make keys and certificates: lines as Xray prints them, which panels read, and keys that fit.

use aws_lc_rs::digest::{SHA256, digest};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Engine, free_port, run_once, run_once_in};

/// The bytes from 0 on, 32 and 64 of them.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const SEED: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0-Pw";
const STANDARD: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// What Xray 26.7.28 prints for them; the long ones as the SHA-256 of it.
const X25519: &str = "PrivateKey: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHl8\n\
    Password (PublicKey): j0DFrbaPJWJK5bIU6nZ6bslNgp09e14a0bpvPiE4KF8\n\
    Hash32: wzCTZNjYhKndYN54x2fTYV8lSnpIYocwiNdA50-jmiw\n";
const WG: &str = "PrivateKey: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHl8=\n\
    Password (PublicKey): j0DFrbaPJWJK5bIU6nZ6bslNgp09e14a0bpvPiE4KF8=\n\
    Hash32: wzCTZNjYhKndYN54x2fTYV8lSnpIYocwiNdA50+jmiw=\n";
const MLKEM768: &str = "404d86f48e61b21d93400d958020d77e987b57794d784454ee27c299fdecc68d";
const MLDSA65: &str = "fbf8d018c67f96e78a20c01a177735e5894ae6017a6f0643f86cd5a96c305269";
const ECH_LIST: &str = "AGD+DQBcAAAgACA6izpz2i1rjhZlU95RXaYJaOfdIP5awFReEDgUcfWsTAAkAAEAAQABAAIAAQADAAIAAQACAAIAAgADAAMAAQADAAIAAwADAA1mcm9udC5leGFtcGxlAAA=";
const ECH_KEYS: &str = "ACCzURQ1aXCyV1SeW8vxQmEymK/3fCGDfO4vaihqcEI0NQBg/g0AXAAAIAAgOos6c9ota44WZVPeUV2mCWjn3SD+WsBUXhA4FHH1rEwAJAABAAEAAQACAAEAAwACAAEAAgACAAIAAwADAAEAAwACAAMAAwANZnJvbnQuZXhhbXBsZQAA";

fn told(args: &[&str]) -> String {
    let output = run_once(args);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), err.as_str()), (Some(0), ""), "{args:?}");
    String::from_utf8(output.stdout).expect("the program speaks UTF-8")
}

fn sha256(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What stands behind the first colon of a line.
fn value(text: &str, line: usize) -> String {
    let line = text.lines().nth(line).unwrap_or_default();
    line.split_once(':').map_or("", |(_, value)| value.trim()).to_owned()
}

#[test]
fn pairs_of_a_private_part_are_those_of_xray() {
    assert_eq!(told(&["x25519", "-i", KEY]), X25519);
    assert_eq!(told(&["x25519", "-std-encoding", "-i", STANDARD]), WG);
    assert_eq!(told(&["wg", "-i", STANDARD]), WG);
    let old = told(&["x25519", "--legacy-labels", "-i", KEY]);
    assert_eq!(old, format!("Private key: {}\nPublic key: {}\n", value(X25519, 0), value(X25519, 1)));
    assert_eq!(sha256(&told(&["mlkem768", "-i", SEED])), MLKEM768);
    assert_eq!(sha256(&told(&["mldsa65", "-i", KEY])), MLDSA65);
}

#[test]
fn new_pairs_differ_and_are_whole() {
    for verb in ["x25519", "wg", "mlkem768", "mldsa65"] {
        let (one, two) = (told(&[verb]), told(&[verb]));
        assert_ne!(one, two, "{verb}");
        // The private part gives the rest.
        assert_eq!(told(&[verb, "-i", &value(&one, 0)]), one, "{verb}");
    }
}

#[test]
fn what_is_no_key_is_refused() {
    for (verb, words) in [
        ("x25519", "Invalid length of X25519 private key."),
        ("wg", "Invalid length of X25519 private key."),
        ("mlkem768", "Invalid length of ML-KEM-768 seed."),
        ("mldsa65", "Invalid length of ML-DSA-65 seed."),
    ] {
        let output = run_once(&[verb, "-i", "c2hvcnQ"]);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), err.trim_end(), output.stdout.len()), (Some(1), words, 0), "{verb}");
    }
}

/// Both texts of each pair that `vlessenc` prints.
fn vlessenc() -> Vec<(String, String)> {
    let text = told(&["vlessenc"]);
    let labels: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("Authentication: ")).collect();
    assert_eq!(labels, ["X25519, not Post-Quantum", "ML-KEM-768, Post-Quantum"]);
    let listed = |key: &str| -> Vec<String> {
        let prefix = format!("\"{key}\": \"");
        let lines = text.lines().filter_map(|line| line.strip_prefix(&*prefix)?.strip_suffix('"'));
        lines.map(str::to_owned).collect()
    };
    let (decryptions, encryptions) = (listed("decryption"), listed("encryption"));
    assert_eq!((decryptions.len(), encryptions.len()), (2, 2));
    decryptions.into_iter().zip(encryptions).collect()
}

const ID: &str = "b831381d-6324-4d53-ad4f-8cda48b30811";

fn server(port: u16, decryption: &str) -> Engine {
    let config = format!(
        r#"{{ "inbounds": [{{ "protocol": "vless", "listen": "127.0.0.1", "port": {port},
        "settings": {{ "clients": [{{ "id": "{ID}" }}], "decryption": "{decryption}" }} }}],
        "outbounds": [{{ "protocol": "freedom", "settings": {{ "finalRules": [{{ "action": "allow" }}] }} }}] }}"#
    );
    Engine::start("server.json", &config, &[port])
}

/// Leads whoever comes to `door` to the target, through a server.
fn client(door: u16, server: u16, encryption: &str, target: u16) -> Engine {
    let config = format!(
        r#"{{ "log": {{ "loglevel": "info" }}, "inbounds": [{{ "protocol": "dokodemo-door", "listen": "127.0.0.1", "port": {door},
        "settings": {{ "address": "127.0.0.1", "port": {target}, "network": "tcp" }} }}],
        "outbounds": [{{ "protocol": "vless", "settings": {{ "address": "127.0.0.1", "port": {server},
        "id": "{ID}", "encryption": "{encryption}" }} }}] }}"#
    );
    Engine::start("client.json", &config, &[door])
}

/// A target that gives back what comes.
async fn echo() -> u16 {
    let target = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let port = target.local_addr().expect("it is bound").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = target.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                let _ = tokio::io::copy(&mut read, &mut write).await;
            });
        }
    });
    port
}

/// Whether words come back through the door.
async fn carries(door: u16) -> bool {
    let mut near = TcpStream::connect(("127.0.0.1", door)).await.expect("the door is open");
    let mut room = [0; 10];
    near.write_all(b"through it").await.is_ok() && near.read_exact(&mut room).await.is_ok() && &room == b"through it"
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_of_vlessenc_make_a_working_pair() {
    let target = echo().await;
    for (decryption, encryption) in vlessenc() {
        let (port, door) = (free_port(), free_port());
        let _server = server(port, &decryption);
        let _client = client(door, port, &encryption, target);
        // The second comes by a ticket.
        assert!(carries(door).await && carries(door).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_of_another_server_carry_nothing_and_are_told_of() {
    let (port, door, target) = (free_port(), free_port(), echo().await);
    let _server = server(port, &vlessenc()[0].0);
    let client = client(door, port, &vlessenc()[0].1, target);
    assert!(!carries(door).await);
    assert!(client.output().contains("handshake"), "{}", client.output());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_started_again_costs_one_flow_at_most() {
    let (port, door, target) = (free_port(), free_port(), echo().await);
    let (decryption, encryption) = vlessenc().remove(1);
    let first = server(port, &decryption);
    let _client = client(door, port, &encryption, target);
    assert!(carries(door).await && carries(door).await);
    drop(first);
    let _again = server(port, &decryption);
    let _ = carries(door).await;
    assert!(carries(door).await && carries(door).await);
}

#[test]
fn certificates_are_made_saved_and_hashed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let args =
        ["tls", "cert", "-domain=a.example", "--domain", "b.example", "-name", "A", "-file", "made", "-expire=24h"];
    let output = run_once_in(folder.path(), &args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let lines = |key: &str| -> String {
        let lines = told[key].as_array().expect("lines");
        lines.iter().map(|line| line.as_str().expect("a line").to_owned() + "\n").collect()
    };
    for (key, file) in [("certificate", "made.crt"), ("key", "made.key")] {
        let saved = std::fs::read_to_string(folder.path().join(file)).expect("it was saved");
        assert_eq!(saved, lines(key), "{file}");
    }
    let mode = {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(folder.path().join("made.key")).expect("it was saved").permissions().mode()
    };
    assert_eq!(mode & 0o777, 0o600);
    let output = run_once_in(folder.path(), &["tls", "hash", "--cert", "made.crt"], b"");
    let hash = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(hash.starts_with("Leaf SHA256:  ") && hash.trim_end().len() == 14 + 64, "{hash}");
    // A chain, whose authority has a name.
    let args = ["tls", "cert", "--ca", "--json=false", "--name", "An authority", "--file", "ca"];
    let output = run_once_in(folder.path(), &args, b"");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("it was saved");
    std::fs::write(folder.path().join("fullchain.pem"), read("made.crt") + &read("ca.crt"))
        .expect("the folder is ours");
    let output = run_once_in(folder.path(), &["tls", "hash"], b"");
    let chain = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(chain.lines().nth(1).is_some_and(|line| line.starts_with("CA <An authority> SHA256:  ")), "{chain}");
    let output = run_once_in(folder.path(), &["tls", "hash", "--cert", "made.key"], b"");
    assert_eq!(output.status.code(), Some(1));
    let output = run_once_in(folder.path(), &["tls", "cert", "-expire", "soon"], b"");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn keys_of_encrypted_hellos_give_their_configs_again() {
    let text = told(&["tls", "ech", "--serverName", "front.example"]);
    let lines: Vec<_> = text.lines().collect();
    assert!(matches!(lines[..], ["ECH config list: ", _, "ECH server keys: ", _]), "{text}");
    assert_eq!(told(&["tls", "ech", "-i", lines[3]]), text);
    assert_eq!(lines[1][60..], ECH_LIST[60..], "all but the public key is Xray's");
    assert_eq!(
        told(&["tls", "ech", "-i", ECH_KEYS]),
        format!("ECH config list: \n{ECH_LIST}\nECH server keys: \n{ECH_KEYS}\n")
    );
    let pem = told(&["tls", "ech", "-pem", "-i", ECH_KEYS]);
    assert!(pem.starts_with("-----BEGIN ECH CONFIGS-----\n") && pem.contains("-----BEGIN ECH KEYS-----\n"), "{pem}");
    let output = run_once(&["tls", "ech", "-i", "AAAA"]);
    assert_eq!(output.status.code(), Some(1));
}
