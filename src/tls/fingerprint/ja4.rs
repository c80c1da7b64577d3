//! JA4, by which others tell hellos apart (FoxIO's description of 2023; TLS over TCP).
#![allow(clippy::unwrap_used)]

use super::hello::Hello;
use crate::tls::crypto::Crypto;

const SERVER_NAME: u16 = 0;
const SIGNATURE_ALGORITHMS: u16 = 13;
const ALPN: u16 = 16;
const VERSIONS: u16 = 43;

/// The fingerprint of a ClientHello message.
pub(super) fn ja4(message: &[u8]) -> String {
    let hello = Hello::read(message).unwrap();
    let suites = numbers(hello.suites);
    let extensions: Vec<_> = hello.extensions.iter().map(|(kind, _)| *kind).filter(|kind| !is_grease(*kind)).collect();
    let version = hello.extension(VERSIONS).map_or(0x0303, |list| numbers(&list[1..]).into_iter().max().unwrap());
    let version = if version == 0x0304 { "13" } else { "12" };
    let name = if extensions.contains(&SERVER_NAME) { 'd' } else { 'i' };
    let alpn = hello.extension(ALPN).map_or_else(
        || "00".to_owned(),
        |list| {
            let first = &list[3..3 + usize::from(list[2])];
            [first[0], first[first.len() - 1]].map(char::from).iter().collect::<String>()
        },
    );
    let counted: Vec<_> = extensions.iter().copied().filter(|kind| ![SERVER_NAME, ALPN].contains(kind)).collect();
    let signatures = hello.extension(SIGNATURE_ALGORITHMS).map(|list| numbers(&list[2..])).unwrap_or_default();
    let last = format!("{}_{}", sorted(counted), joined(&signatures));
    let (suite_count, count) = (suites.len(), extensions.len());
    format!("t{version}{name}{suite_count:02}{count:02}{alpn}_{}_{}", short(&sorted(suites)), short(&last))
}

pub(super) fn is_grease(number: u16) -> bool {
    number & 0x0f0f == 0x0a0a && number >> 8 == number & 0xff
}

/// All but the reserved ones.
fn numbers(list: &[u8]) -> Vec<u16> {
    let pairs = list.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    pairs.filter(|number| !is_grease(*number)).collect()
}

fn sorted(mut list: Vec<u16>) -> String {
    list.sort_unstable();
    joined(&list)
}

fn joined(list: &[u16]) -> String {
    list.iter().map(|number| format!("{number:04x}")).collect::<Vec<_>>().join(",")
}

fn short(text: &str) -> String {
    Crypto::sha256(text.as_bytes()).unwrap()[..6].iter().map(|byte| format!("{byte:02x}")).collect()
}
