//! gRPC's messages and paths.

use bytes::BytesMut;
use etemenanki::proto::gun::{Hunks, MOST, Paths, Piece, overhead, put_prefix, refusal};

/// Reads messages, and writes what was found in one that reads the same.
pub fn hunks(data: &[u8]) {
    let whole = read([data]);
    assert_eq!(whole, read(data.chunks(1)));
    assert_eq!(whole, read(data.chunks(7)));
    let plain = &data[..data.len().min(MOST)];
    let mut wire = BytesMut::new();
    put_prefix(plain.len(), &mut wire);
    assert_eq!(wire.len(), overhead(plain.len()));
    wire.extend_from_slice(plain);
    assert_eq!(read([&wire[..]]), (plain.to_vec(), true, false));
}

/// Payload, whether it ends between messages, and whether a fault ended it.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, bool, bool) {
    let (mut hunks, mut plain) = (Hunks::default(), Vec::new());
    for mut piece in pieces {
        while !piece.is_empty() {
            let Ok(Piece { skip, data }) = hunks.next(piece) else { return (plain, false, true) };
            assert!(data > 0 || skip == piece.len(), "stopped early");
            plain.extend_from_slice(&piece[skip..skip + data]);
            piece = &piece[skip + data..];
        }
    }
    (plain, hunks.is_between(), false)
}

/// Makes paths of names; both are calls, and can stand in a request.
pub fn paths(data: &[u8]) {
    let Ok(name) = std::str::from_utf8(data) else { return };
    let paths = Paths::of(name);
    for path in [&paths.tun, &paths.multi] {
        assert!(path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'?'));
        assert_eq!(refusal("POST", Some("application/grpc"), path, &paths), None);
    }
    let _ = refusal("GET", Some(name), name, &paths);
    let _ = refusal("POST", Some("application/grpc"), name, &paths);
}
