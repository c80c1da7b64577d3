//! Frames of mux.cool and XUDP.

use bytes::BytesMut;
use etemenanki::proto::mux::{Found, Kind, Xudp, read_frame, write_end, write_keep};

use super::feed;

/// Reads frames, and writes some of them again.
pub fn frames(data: &[u8]) {
    let mut rest = data;
    while let Ok(found) = read_frame(rest) {
        match found {
            Found::More { need } => {
                assert!(need > 0);
                return;
            }
            Found::Whole { frame, used, data } => {
                assert!(used > 0 && used <= rest.len());
                // A frame that is cut is no frame.
                for cut in [used - 1, used / 2] {
                    assert!(matches!(read_frame(&rest[..cut]), Ok(Found::More { .. }) | Err(_)), "{frame:?}");
                }
                let payload = data.as_ref().map(|at| &rest[at.clone()]);
                let mut again = BytesMut::new();
                match &frame.kind {
                    Kind::End { error } => write_end(frame.id, *error, &mut again),
                    _ => write_keep(frame.id, None, payload.unwrap_or_default(), &mut again),
                }
                assert!(matches!(read_frame(&again), Ok(Found::Whole { frame: same, used, .. })
                    if same.id == frame.id && used == again.len()));
                rest = &rest[used..];
            }
        }
    }
}

/// Datagrams in frames, from either side.
pub fn xudp(data: &[u8]) {
    feed::unpack(data, || Xudp::client(None));
    let (packets, _) = feed::unpack(data, Xudp::server);
    let packets: Vec<_> = packets.into_iter().filter_map(|(payload, peer)| Some((payload, peer?))).collect();
    feed::pack_again(&packets, Xudp::client(None), Xudp::server);
}
