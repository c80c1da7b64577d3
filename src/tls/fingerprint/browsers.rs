//! Browsers' hellos, as they were seen. `testdata/vectors/hello.json` holds what Chrome and Firefox sent.

use super::shape::Extension::{
    Alpn, Alps, Daring, Ech, Fixed, Grease, Groups, KeyShare, Padding, ServerName, SignatureAlgorithms, Versions,
};
use super::shape::{GREASE, MLKEM, P256, Shape, X25519};

pub(super) const STATUS_REQUEST: u16 = 5;
pub(super) const SESSION_TICKET: u16 = 35;
const POINT_FORMATS: u16 = 11;
const SCT: u16 = 18;
const EXTENDED_MASTER_SECRET: u16 = 23;
const COMPRESS_CERTIFICATE: u16 = 27;
const RECORD_SIZE_LIMIT: u16 = 28;
const DELEGATED_CREDENTIALS: u16 = 34;
const PSK_MODES: u16 = 45;
const TRUST_ANCHORS: u16 = 51764;
const RENEGOTIATION_INFO: u16 = 0xff01;

const AES_128_GCM: u16 = 1;
const CHACHA20_POLY1305: u16 = 3;
const OCSP: &[u8] = &[1, 0, 0, 0, 0];

/// Chromium 156.
pub(super) fn chrome() -> Shape {
    let suites = &[
        GREASE, 0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc013, 0xc014, 0x009c, 0x009d,
        0x002f, 0x0035,
    ];
    let extensions = &[
        Grease(0),
        Fixed(EXTENDED_MASTER_SECRET, &[]),
        Groups(&[GREASE, MLKEM, X25519, P256, 0x0018]),
        Alps,
        Fixed(POINT_FORMATS, &[1, 0]),
        // Brotli.
        Fixed(COMPRESS_CERTIFICATE, &[2, 0, 2]),
        Versions(&[GREASE, 0x0304, 0x0303]),
        ServerName,
        Fixed(RENEGOTIATION_INFO, &[0]),
        Daring(TRUST_ANCHORS, CHROME_ANCHORS),
        Alpn,
        Ech(AES_128_GCM, &[144, 176, 208, 240]),
        Fixed(SESSION_TICKET, &[]),
        Fixed(STATUS_REQUEST, OCSP),
        KeyShare(&[GREASE, MLKEM, X25519]),
        Daring(SCT, &[]),
        Fixed(PSK_MODES, &[1, 1]),
        SignatureAlgorithms(&[
            GREASE, 0x0904, 0x0905, 0x0906, 0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601,
        ]),
        Grease(1),
    ];
    Shape { suites: suites.to_vec(), extensions: extensions.to_vec(), shuffled: true }
}

/// Firefox 153.
pub(super) fn firefox() -> Shape {
    let suites = &[
        0x1301, 0x1303, 0x1302, 0xc02b, 0xc02f, 0xcca9, 0xcca8, 0xc02c, 0xc030, 0xc00a, 0xc013, 0xc014, 0x009c, 0x009d,
        0x002f, 0x0035,
    ];
    let extensions = &[
        ServerName,
        Fixed(EXTENDED_MASTER_SECRET, &[]),
        Fixed(RENEGOTIATION_INFO, &[0]),
        Groups(&[MLKEM, X25519, P256, 0x0018, 0x0019, 0x0100, 0x0101]),
        Fixed(POINT_FORMATS, &[1, 0]),
        Fixed(SESSION_TICKET, &[]),
        Alpn,
        Fixed(STATUS_REQUEST, OCSP),
        Daring(DELEGATED_CREDENTIALS, &[0, 8, 4, 3, 5, 3, 6, 3, 2, 3]),
        Daring(SCT, &[]),
        KeyShare(&[MLKEM, X25519, P256]),
        Versions(&[0x0304, 0x0303]),
        SignatureAlgorithms(&[0x0403, 0x0503, 0x0603, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601, 0x0203, 0x0201]),
        Fixed(PSK_MODES, &[1, 1]),
        Daring(RECORD_SIZE_LIMIT, &[0x40, 1]),
        // Zlib, Brotli and Zstandard, two of which are daring.
        Daring(COMPRESS_CERTIFICATE, &[6, 0, 1, 0, 2, 0, 3]),
        Ech(CHACHA20_POLY1305, &[239]),
    ];
    Shape { suites: suites.to_vec(), extensions: extensions.to_vec(), shuffled: false }
}

/// Safari 17 as it is known from its JA4.
pub(super) fn safari() -> Shape {
    let suites = &[
        GREASE, 0x1301, 0x1302, 0x1303, 0xc02c, 0xc02b, 0xcca9, 0xc030, 0xc02f, 0xcca8, 0xc00a, 0xc009, 0xc014, 0xc013,
        0x009d, 0x009c, 0x0035, 0x002f, 0xc008, 0xc012, 0x000a,
    ];
    let extensions = &[
        Grease(0),
        ServerName,
        Fixed(EXTENDED_MASTER_SECRET, &[]),
        Fixed(RENEGOTIATION_INFO, &[0]),
        Groups(&[GREASE, X25519, P256, 0x0018, 0x0019]),
        Fixed(POINT_FORMATS, &[1, 0]),
        Alpn,
        Fixed(STATUS_REQUEST, OCSP),
        SignatureAlgorithms(&[0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0805, 0x0501, 0x0806, 0x0601, 0x0201]),
        Daring(SCT, &[]),
        KeyShare(&[GREASE, X25519]),
        Fixed(PSK_MODES, &[1, 1]),
        Versions(&[GREASE, 0x0304, 0x0303, 0x0302, 0x0301]),
        // Zlib, which is why it is daring.
        Daring(COMPRESS_CERTIFICATE, &[2, 0, 1]),
        Grease(1),
        Padding,
    ];
    Shape { suites: suites.to_vec(), extensions: extensions.to_vec(), shuffled: false }
}

/// The certificate authorities that Chromium tells it knows, each by its number.
const CHROME_ANCHORS: &[u8] = b"\
    \x00\xb8\
    \x05\x82\xdf\x13\x02\x01\
    \x05\x82\xdf\x13\x02\x06\
    \x05\x82\xdf\x13\x02\x0d\
    \x05\x82\xdf\x13\x02\x0e\
    \x05\x82\xdf\x13\x02\x0f\
    \x05\x82\xdf\x13\x02\x12\
    \x05\x82\xdf\x13\x02\x13\
    \x05\x82\xdf\x13\x02\x14\
    \x08\x83\x9a\x64\x8c\x9b\x2d\x01\x07\
    \x08\x83\x9a\x64\x8c\x9b\x2d\x01\x08\
    \x08\x83\x9a\x64\x8c\x9b\x2d\x01\x09\
    \x08\x83\x9a\x64\x8c\x9b\x2d\x01\x0a\
    \x08\x83\x9a\x64\x8c\x9b\x2d\x01\x0b\
    \x08\x83\x9a\x64\x8c\x9b\x2d\x01\x0c\
    \x08\x83\x9a\x64\x8c\x9b\x2d\x01\x0d\
    \x08\x83\x9a\x64\x8c\x9b\x2d\x01\x12\
    \x08\x83\x9a\x64\x8c\x9b\x2d\x01\x13\
    \x04\xd6\x79\x09\x01\
    \x04\xd6\x79\x09\x04\
    \x04\xd6\x79\x09\x05\
    \x04\xd6\x79\x09\x06\
    \x04\xd6\x79\x09\x07\
    \x04\xd6\x79\x09\x08\
    \x04\xd6\x79\x09\x0a\
    \x04\xd6\x79\x09\x0b\
    \x04\xd6\x79\x09\x0c\
    \x04\xd6\x79\x09\x0d\
    \x04\xd6\x79\x09\x0f\
";
