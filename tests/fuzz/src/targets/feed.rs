//! Codecs by their contracts: whole, split, and byte by byte.

use std::fmt::Debug;

use bytes::BytesMut;
use etemenanki::wire::{Handshake, Open, Opened, Parcel, Step, Unpacked, WireError};

/// Bytes that a codec may ask for at a time, beside those that are there. No protocol has longer frames.
const MOST: usize = 1 << 20;

/// Ways to split an input: whole, in two at a place that depends on it, in threes, and byte by byte.
fn splits(input: &[u8]) -> [Vec<&[u8]>; 4] {
    let at = input.first().map_or(0, |first| usize::from(*first) % (input.len() + 1));
    let (left, right) = input.split_at(at);
    [vec![input], vec![left, right], input.chunks(3).collect(), input.chunks(1).collect()]
}

fn same<T: Debug + PartialEq>(results: impl IntoIterator<Item = T>) -> T {
    let mut results = results.into_iter();
    let whole = results.next().expect("at least one way");
    for other in results {
        assert_eq!(whole, other, "whole and in pieces");
    }
    whole
}

/// A handshake to its end: what came of it in words, and the bytes behind it; nothing while it waits.
pub fn shake<H: Handshake>(
    input: &[u8],
    make: impl Fn() -> H,
    mut words: impl FnMut(H::Output) -> String,
) -> Option<Result<(String, Vec<u8>), WireError>> {
    same(splits(input).into_iter().map(|pieces| {
        let (mut shake, mut held, mut reply) = (make(), Vec::new(), Vec::new());
        let mut pieces = pieces.into_iter().chain([&[][..]]);
        let mut shown: &[u8] = &[];
        let result = loop {
            held.extend_from_slice(shown);
            match shake.step(&held, &mut reply) {
                Ok(Step::More { used, need }) => {
                    assert!((1..=MOST).contains(&need), "needs {need}");
                    held.drain(..used);
                }
                Ok(Step::Done { used, value }) => {
                    held.drain(..used);
                    held.extend(pieces.flatten());
                    break Some(Ok((words(value), held)));
                }
                Err(error) => break Some(Err(error)),
            }
            match pieces.next() {
                Some(piece) => shown = piece,
                None => break None,
            }
        };
        (result, reply)
    }))
    .0
}

/// All plain bytes, and how they ended.
pub fn open<O: Open>(input: &[u8], make: impl Fn() -> O) -> (Vec<u8>, String) {
    same(splits(input).into_iter().map(|pieces| {
        let (mut open, mut held, mut plain) = (make(), Vec::new(), Vec::new());
        for piece in pieces {
            held.extend_from_slice(piece);
            loop {
                match open.open(&mut held) {
                    Ok(Opened::More { need }) => {
                        assert!((1..=MOST).contains(&need), "needs {need}");
                        break;
                    }
                    Ok(Opened::Plain { used, at }) => {
                        assert!(used > 0, "took nothing");
                        plain.extend_from_slice(&held[at]);
                        held.drain(..used);
                    }
                    Ok(Opened::Over { used, next }) => {
                        held.drain(..used);
                        return (plain, format!("{next:?}"));
                    }
                    Ok(Opened::End { used }) => {
                        held.drain(..used);
                        return (plain, "ended".to_owned());
                    }
                    Err(error) => return (plain, error.to_string()),
                }
            }
        }
        (plain, "open".to_owned())
    }))
}

/// A datagram with its peer, if one was named.
pub type Packet<P> = (Vec<u8>, Option<P>);

/// All datagrams, and how they ended.
pub fn unpack<P: Parcel>(input: &[u8], make: impl Fn() -> P) -> (Vec<Packet<P::Peer>>, String)
where
    P::Peer: Debug + PartialEq,
{
    same(splits(input).into_iter().map(|pieces| {
        let (mut parcel, mut held, mut packets) = (make(), Vec::new(), Vec::new());
        for piece in pieces {
            held.extend_from_slice(piece);
            loop {
                match parcel.unpack(&mut held) {
                    Ok(Unpacked::More { need }) => {
                        assert!((1..=MOST).contains(&need), "needs {need}");
                        break;
                    }
                    Ok(Unpacked::Packet { used, at, peer }) => {
                        assert!(used > 0, "took nothing");
                        packets.push((held[at].to_vec(), peer));
                        held.drain(..used);
                    }
                    Ok(Unpacked::Nothing { used }) => {
                        assert!(used > 0, "took nothing");
                        held.drain(..used);
                    }
                    Ok(Unpacked::End) => return (packets, "ended".to_owned()),
                    Err(error) => return (packets, error.to_string()),
                }
            }
        }
        (packets, "open".to_owned())
    }))
}

/// Packs datagrams and finds the same again.
pub fn pack_again<P: Parcel>(packets: &[(Vec<u8>, P::Peer)], mut from: P, into: impl Fn() -> P)
where
    P::Peer: Debug + PartialEq + Clone,
{
    let mut wire = BytesMut::new();
    let sent: Vec<_> = packets.iter().filter(|(payload, peer)| from.pack(payload, peer, &mut wire)).collect();
    let (found, _) = unpack(&wire, into);
    assert_eq!(found.len(), sent.len(), "as many as were sent");
    for ((found, from), (sent, to)) in found.into_iter().zip(sent) {
        assert_eq!(found, *sent);
        assert!(from.is_none_or(|from| from == *to), "from whom they were sent to");
    }
}
