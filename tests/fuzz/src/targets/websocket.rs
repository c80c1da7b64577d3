//! Frames of WebSocket.

use bytes::BytesMut;
use etemenanki::proto::websocket::{OpenFrames, SealFrames};
use etemenanki::wire::Seal;

use super::feed;

/// Reads frames of either side, and what is written of the input.
pub fn frames(data: &[u8]) {
    feed::open(data, || OpenFrames::new(true));
    feed::open(data, || OpenFrames::new(false));
    let (mut sealer, mut wire, mut rest) = (SealFrames::new(Some(|| [1, 2, 3, 4])), BytesMut::new(), data);
    while !rest.is_empty() {
        let took = sealer.seal(rest, &mut wire);
        assert!(took > 0, "nothing was taken");
        rest = &rest[took..];
    }
    assert_eq!(feed::open(&wire, || OpenFrames::new(true)), (data.to_vec(), "open".to_owned()));
}
