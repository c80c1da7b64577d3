//! The first packets of QUIC.

use etemenanki::proto::hello::ClientHello;
use etemenanki::proto::quic::Hello;
use etemenanki::wire::WireError;

/// Longest hello that is put together from pieces here.
const MOST: usize = 16 * 1024;

/// Datagrams of anybody: the first byte says where the second begins. No fuzzer finds the seal of a packet.
pub fn datagrams(data: &[u8]) {
    let Some((&at, rest)) = data.split_first() else { return };
    let (first, second) = rest.split_at(usize::from(at).min(rest.len()));
    let mut hello = Hello::default();
    let _ = hello.take(first);
    let _ = hello.take(second);
}

/// What stands in opened packets; and the same as the pieces of a hello, whose order does not count.
pub fn frames(data: &[u8]) {
    let mut hello = Hello::default();
    let (first, second) = data.split_at(data.len() / 2);
    for packet in [data, first, second] {
        let _ = hello.take_frames(packet);
    }
    let Some((&len, message)) = data.split_first() else { return };
    let message = &message[..message.len().min(MOST - 1)];
    let len = usize::from(len) + 1;
    let mut pieces: Vec<_> = message.chunks(len).enumerate().map(|(nth, piece)| frame(nth * len, piece)).collect();
    pieces.reverse();
    // All in one packet, and each in one of its own.
    let whole = Hello::default().take_frames(&pieces.concat());
    let mut hello = Hello::default();
    let last = pieces.iter().map(|piece| hello.take_frames(piece)).last();
    let wanted = match ClientHello::from_handshake(message) {
        Ok(hello) => Ok(Some(hello)),
        Err(WireError::Truncated { .. }) => Ok(None),
        Err(error) => Err(error),
    };
    if let Some(last) = last {
        assert_eq!((&whole, &last), (&wanted, &wanted), "as if it had come in one piece");
    }
}

/// A CRYPTO frame.
fn frame(at: usize, piece: &[u8]) -> Vec<u8> {
    let number = |number: usize| (u16::try_from(number).expect("14 bits") | 0x4000).to_be_bytes();
    [&[6][..], &number(at), &number(piece.len()), piece].concat()
}
