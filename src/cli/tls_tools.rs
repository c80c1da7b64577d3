//! The verb `tls`: certificates, their hashes, and keys for encrypted client hellos.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::json;

use super::ech;
use super::exit::Exit;
use super::key_args::{Cert, Ech, Tls};
use super::say;
use crate::shape::parse_time;

/// `tls`.
pub fn tls(what: &Tls) -> Exit {
    let done = match what {
        Tls::Cert(args) => cert(args),
        Tls::Hash { cert } => hash(cert),
        Tls::Ech(args) => ech_keys(args),
    };
    match done {
        Ok(text) => {
            if !text.is_empty() {
                say::out(text);
            }
            Exit::Done
        }
        Err(why) => {
            say::err(why);
            Exit::Failed
        }
    }
}

/// So far back certificates begin to count, for clocks that are slow.
const BEFORE: Duration = Duration::from_secs(60 * 60);

fn cert(args: &Cert) -> Result<String, String> {
    let failed = |error: rcgen::Error| format!("failed to generate TLS certificate: {error}");
    let life = parse_time(&args.expire).ok_or_else(|| format!("invalid duration: {:?}", args.expire))?;
    let now = SystemTime::now();
    let until = now.checked_add(life).ok_or("the certificate would count for too long")?;
    let mut params = CertificateParams::new(args.domain.clone()).map_err(failed)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, &*args.org);
    params.distinguished_name.push(DnType::CommonName, &*args.name);
    (params.not_before, params.not_after) = ((now - BEFORE).into(), until.into());
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.is_ca = IsCa::ExplicitNoCa;
    if args.ca {
        params.key_usages.push(KeyUsagePurpose::KeyCertSign);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed)?;
    let (cert, key) = (params.self_signed(&pair).map_err(failed)?.pem(), pair.serialize_pem());
    if let Some(base) = &args.file {
        let saved = write(base, "crt", &cert, 0o644).and_then(|()| write(base, "key", &key, 0o600));
        saved.map_err(|error| format!("failed to save file: {error}"))?;
    }
    if !args.json {
        return Ok(String::new());
    }
    let lines = |pem: &str| pem.lines().map(str::to_owned).collect::<Vec<_>>();
    let told = json!({ "certificate": lines(&cert), "key": lines(&key) });
    serde_json::to_string_pretty(&told).map_err(|error| error.to_string())
}

/// A key is nobody else's to read, also where a file of that name was there before.
fn write(base: &Path, ending: &str, text: &str, mode: u32) -> io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};

    let mut name = base.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    let path = PathBuf::from(name);
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)?;
    file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    file.write_all(text.as_bytes())
}

fn hash(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let certs: Vec<CertificateDer<'_>> = if bytes.windows(5).any(|part| part == b"BEGIN") {
        let read = CertificateDer::pem_slice_iter(&bytes).collect::<Result<_, _>>();
        read.map_err(|error| format!("Unable to decode certificate: {error}"))?
    } else {
        vec![CertificateDer::from(bytes)]
    };
    let mut rows = vec![];
    for (at, cert) in certs.iter().enumerate() {
        let name = ech::common_name(cert).ok_or("Unable to decode certificate: not X.509")?;
        let hash = digest(&SHA256, cert).as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        rows.push((if at == 0 { "Leaf SHA256:".to_owned() } else { format!("CA <{name}> SHA256:") }, hash));
    }
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().ok_or("No certificates found")?;
    let lines = rows.iter().map(|(name, hash)| format!("{name:width$}  {hash}"));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

fn ech_keys(args: &Ech) -> Result<String, String> {
    let keys = match args.input.as_deref().filter(|text| !text.is_empty()) {
        None => ech::draw(&args.server_name)?,
        Some(text) => STANDARD.decode(text).map_err(|error| format!("Failed to decode ECHServerKeys: {error}"))?,
    };
    let configs = ech::list(&keys).ok_or("Failed to decode ECHServerKeys: not pairs of a key and its config")?;
    let [list, keys] = [configs, keys].map(|bytes| STANDARD.encode(bytes));
    if args.pem {
        return Ok(pem("ECH CONFIGS", &list) + &pem("ECH KEYS", &keys));
    }
    Ok(format!("ECH config list: \n{list}\nECH server keys: \n{keys}"))
}

fn pem(label: &str, base64: &str) -> String {
    let lines = base64.as_bytes().chunks(64).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\n");
    format!("-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n")
}
