//! What both directions of a stream learn of the inner one as it begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is known of the inner stream. Both directions belong to one stream and so are never looked at by two threads at a
/// time; the word is atomic because the compiler cannot know that. Nobody touches it once padding has ended.
#[derive(Debug, Clone)]
pub struct Filter(Arc<AtomicU64>);

/// What was seen so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    /// Blocks that are still looked at.
    pub(super) left: u8,
    /// It is TLS.
    pub(super) tls: bool,
    /// A server has answered, with TLS 1.2 or newer.
    pub(super) answered: bool,
    /// It is TLS 1.3 with a suite whose records may travel bare.
    pub(super) direct: bool,
    /// The suite that the server chose.
    suite: u16,
    /// Bytes of the server's hello that are to come.
    hello: u32,
}

/// Blocks of both directions together that are looked at.
const BLOCKS: u8 = 8;

const SERVER_HELLO: u8 = 2;
const CLIENT_HELLO: u8 = 1;

/// The extension by which a server says that it speaks TLS 1.3.
const TLS13: &[u8] = &[0, 0x2b, 0, 2, 3, 4];

/// All suites of TLS 1.3 but the one with the short tag.
const SUITES: std::ops::RangeInclusive<u16> = 0x1301..=0x1304;

impl Default for Filter {
    fn default() -> Self {
        let nothing = Seen { left: BLOCKS, tls: false, answered: false, direct: false, suite: 0, hello: 0 };
        Self(Arc::new(AtomicU64::new(nothing.pack())))
    }
}

impl Filter {
    /// Looks at a block of either direction.
    pub(super) fn look(&self, block: &[u8]) {
        let mut seen = self.seen();
        if seen.left > 0 && !block.is_empty() {
            seen.look(block);
            self.0.store(seen.pack(), Ordering::Relaxed);
        }
    }

    pub(super) fn seen(&self) -> Seen {
        Seen::unpack(self.0.load(Ordering::Relaxed))
    }
}

impl Seen {
    fn look(&mut self, block: &[u8]) {
        self.left -= 1;
        match *block {
            [0x16, 3, 3, high, low, SERVER_HELLO, ..] => {
                (self.tls, self.answered) = (true, true);
                self.hello = u32::from(u16::from_be_bytes([high, low])) + 5;
                if block.len() >= 79 && self.hello >= 79 {
                    self.suite = suite(block).unwrap_or_default();
                }
            }
            [0x16, 3, _, _, _, CLIENT_HELLO, ..] => self.tls = true,
            _ => {}
        }
        if self.hello == 0 {
            return;
        }
        let part = usize::try_from(self.hello).unwrap_or(usize::MAX).min(block.len());
        self.hello -= u32::try_from(part).unwrap_or(self.hello);
        if block[..part].windows(TLS13.len()).any(|window| window == TLS13) {
            self.direct = SUITES.contains(&self.suite);
            (self.left, self.hello) = (0, 0);
        } else if self.hello == 0 {
            // The whole of it was seen: TLS 1.2.
            self.left = 0;
        }
    }

    fn pack(self) -> u64 {
        u64::from(self.left)
            | u64::from(self.tls) << 8
            | u64::from(self.answered) << 9
            | u64::from(self.direct) << 10
            | u64::from(self.suite) << 16
            | u64::from(self.hello) << 32
    }

    fn unpack(word: u64) -> Self {
        let [left, flags, low, high, rest @ ..] = word.to_le_bytes();
        Self {
            left,
            tls: flags & 1 != 0,
            answered: flags & 2 != 0,
            direct: flags & 4 != 0,
            suite: u16::from_le_bytes([low, high]),
            hello: u32::from_le_bytes(rest),
        }
    }
}

/// The suite in a server's hello, behind its session id.
fn suite(hello: &[u8]) -> Option<u16> {
    let at = 44 + usize::from(*hello.get(43)?);
    hello.get(at..)?.first_chunk().map(|suite| u16::from_be_bytes(*suite))
}

/// A server's hello of TLS 1.3 as Xray's filter wants to see one.
#[cfg(test)]
pub(super) fn server_hello(suite: u16, tls13: bool) -> Vec<u8> {
    let mut hello = vec![0x16, 3, 3, 0, 0, SERVER_HELLO, 0, 0, 0, 3, 3];
    hello.extend([7; 32]);
    hello.push(32);
    hello.extend([9; 32]);
    hello.extend(suite.to_be_bytes());
    hello.extend([0, 0, 6]);
    hello.extend(if tls13 { TLS13 } else { &[0, 0x17, 0, 0, 0, 0] });
    let len = u16::try_from(hello.len() - 5).unwrap_or_default().to_be_bytes();
    hello[3..5].copy_from_slice(&len);
    hello
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(blocks: &[&[u8]]) -> Seen {
        let filter = Filter::default();
        blocks.iter().for_each(|block| filter.look(block));
        filter.seen()
    }

    #[test]
    fn a_word_holds_all_that_was_seen() {
        let all = Seen { left: 5, tls: true, answered: true, direct: true, suite: 0x1303, hello: 65_540 };
        assert_eq!(Seen::unpack(all.pack()), all);
    }

    #[test]
    fn tls_13_is_known_by_the_servers_hello() {
        let client = [0x16, 3, 1, 0, 4, CLIENT_HELLO, 0, 0, 0];
        let seen = after(&[&client]);
        assert_eq!((seen.left, seen.tls, seen.answered, seen.direct), (7, true, false, false));
        let seen = after(&[&client, &server_hello(0x1301, true)]);
        assert_eq!((seen.left, seen.tls, seen.answered, seen.direct), (0, true, true, true));
        assert!(!after(&[&server_hello(0x1305, true)]).direct);
        let seen = after(&[&server_hello(0xc02f, false)]);
        assert_eq!((seen.left, seen.tls, seen.answered, seen.direct), (0, true, true, false));
    }

    #[test]
    fn a_hello_in_two_blocks_is_read_to_its_end() {
        let hello = server_hello(0x1302, true);
        let (front, back) = hello.split_at(80);
        let seen = after(&[front, back]);
        assert_eq!((seen.left, seen.direct), (0, true));
        // Too short a front hides the suite, as it does from Xray.
        let (front, back) = hello.split_at(40);
        assert!(!after(&[front, back]).direct);
        // What stands behind the hello is none of it.
        let plain = [&server_hello(0xc02f, false)[..], TLS13].concat();
        assert!(!after(&[&plain]).direct);
    }

    #[test]
    fn what_is_no_tls_is_looked_at_eight_times() {
        let seen = after(&[&b"GET / HTTP/1.1\r\n"[..]; 9]);
        assert_eq!((seen.left, seen.tls), (0, false));
        assert!(!after(&[&[0x16, 3, 3, 0, 200, SERVER_HELLO][..]; 8]).direct);
    }
}
