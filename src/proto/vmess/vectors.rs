//! Known answers, checked against v2ray and sing-box, and what tests need to read them.
#![allow(clippy::unwrap_used)]

pub(super) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().map(|byte| (byte as char).to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

pub(super) fn array<const N: usize>(text: &str) -> [u8; N] {
    hex(text).try_into().unwrap()
}

/// The id of the user in all of them.
pub(super) const UUID: &str = "b831381d63244d53ad4f8cda48b30811";
pub(super) const CMD_KEY: &str = "b50d916ac0cec067981af8e5f38a758f";

/// Made at this second.
pub(super) const TIME: u64 = 1_700_000_000;
pub(super) const AUTH_ID: &str = "4774fe5cc901ea4f81f2159909767a36";

/// Keys of the body.
pub(super) const KEY: &str = "202122232425262728292a2b2c2d2e2f";
pub(super) const IV: &str = "101112131415161718191a1b1c1d1e1f";

/// The header for `www.example.com:443` without padding, and as it goes over the wire.
pub(super) const PLAIN: &str = "01101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f070d03000101bb020f\
                                7777772e6578616d706c652e636f6dc25871e7";
pub(super) const SEALED: &str = "4774fe5cc901ea4f81f2159909767a36ca3db3638f97a7eb7c758619a6a65827e42b0001020304050607\
                                 8e3573dd1b58552f2be5798b573e8f5286f9823ece3f31fea35316ccbfd31dcae42912dbc15bbb91160f\
                                 951028ebbef80b012777f6b374a8d3630e356a938ffa9394b1a914b220fdd063e83490";
