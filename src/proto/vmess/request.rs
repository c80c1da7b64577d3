//! The header of a request, in the clear.

use std::fmt;

use bytes::BufMut;
use rand::{Rng, RngExt};
use zeroize::Zeroizing;

use super::options::{Options, Security};
use crate::addr::Target;
use crate::proto::portfirst::{read_address, write_address};
use crate::wire::{Reader, WireError};

/// What a client asks for, and how the bodies of both directions are sealed.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    pub(super) key: Zeroizing<[u8; 16]>,
    pub(super) iv: [u8; 16],
    /// The answer repeats it.
    pub(super) mark: u8,
    /// How bodies are cut.
    pub options: Options,
    /// How they are sealed.
    pub security: Security,
    /// What is asked for.
    pub command: Command,
}

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A stream to a target.
    Tcp(Target),
    /// Datagrams to and from one target, a chunk each.
    Udp(Target),
    /// Sessions of mux.cool.
    Mux,
}

const VERSION: u8 = 1;
const TCP: u8 = 1;
const UDP: u8 = 2;
const MUX: u8 = 3;

/// Bytes of the sum at the end.
const SUM: usize = 4;

impl Request {
    /// A new one with keys of its own.
    #[must_use]
    pub fn new(command: Command, options: Options, security: Security, rng: &mut impl Rng) -> Self {
        Self { key: Zeroizing::new(rng.random()), iv: rng.random(), mark: rng.random(), options, security, command }
    }

    /// Whether bodies are as bare as they came.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.security == Security::None && !self.options.has(Options::CHUNKS)
    }

    /// Appends it with this padding, of at most fifteen bytes.
    pub(super) fn write(&self, padding: &[u8], out: &mut Vec<u8>) {
        let begin = out.len();
        out.put_u8(VERSION);
        out.put_slice(&self.iv);
        out.put_slice(&*self.key);
        out.put_u8(self.mark);
        out.put_u8(self.options.0);
        let padding = &padding[..padding.len().min(15)];
        out.put_u8(u8::try_from(padding.len()).unwrap_or(0) << 4 | self.security.to_wire());
        out.put_u8(0);
        let (number, target) = match &self.command {
            Command::Tcp(target) => (TCP, Some(target)),
            Command::Udp(target) => (UDP, Some(target)),
            Command::Mux => (MUX, None),
        };
        out.put_u8(number);
        if let Some(target) = target {
            write_address(target, out);
        }
        out.put_slice(padding);
        let sum = fnv(&out[begin..]);
        out.put_u32(sum);
    }

    /// Reads it from all of its bytes.
    pub(super) fn read(plain: &[u8]) -> Result<Self, WireError> {
        let malformed = |what| WireError::Malformed { what };
        let (said, sum) = plain.split_last_chunk::<SUM>().ok_or_else(|| malformed("VMess header"))?;
        if fnv(said) != u32::from_be_bytes(*sum) {
            return Err(malformed("sum of a VMess header"));
        }
        let mut reader = Reader::new(said);
        Self::fields(&mut reader).map_err(|error| match error {
            // All of it is here, so what is missing will not come.
            WireError::Truncated { .. } => malformed("VMess header"),
            other => other,
        })
    }

    fn fields(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        if reader.take_u8()? != VERSION {
            return Err(WireError::Malformed { what: "version of a VMess header" });
        }
        let iv = reader.take_array()?;
        let key = Zeroizing::new(reader.take_array()?);
        let mark = reader.take_u8()?;
        let options = Options(reader.take_u8()?);
        let number = reader.take_u8()?;
        let (padding, security) = (usize::from(number >> 4), Security::of_wire(number & 15));
        let security = security.ok_or(WireError::Malformed { what: "security of a VMess header" })?;
        reader.take_u8()?;
        let command = match reader.take_u8()? {
            TCP => Command::Tcp(read_address(reader)?),
            UDP => Command::Udp(read_address(reader)?),
            MUX => Command::Mux,
            _ => return Err(WireError::Malformed { what: "command of a VMess header" }),
        };
        reader.take_bytes(padding)?;
        Ok(Self { key, iv, mark, options, security, command })
    }
}

/// FNV-1a of 32 bits.
fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Without the keys.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("options", &self.options)
            .field("security", &self.security)
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::super::vectors::{IV, KEY, PLAIN, array, hex};
    use super::*;

    /// The one of the known answers.
    pub(in super::super) fn known() -> Request {
        Request {
            key: Zeroizing::new(array(KEY)),
            iv: array(IV),
            mark: 7,
            options: Options(0x0d),
            security: Security::Aes128Gcm,
            command: Command::Tcp("www.example.com:443".parse().unwrap()),
        }
    }

    #[test]
    fn the_known_header_is_written_and_read() {
        let mut out = Vec::new();
        known().write(&[], &mut out);
        assert_eq!(out, hex(PLAIN));
        assert_eq!(Request::read(&out), Ok(known()));
        assert!(!format!("{:?}", known()).contains("32, 33"));
    }

    #[test]
    fn each_command_comes_back_behind_its_padding() {
        let target: Target = "10.0.0.1:53".parse().unwrap();
        for command in [Command::Tcp(target.clone()), Command::Udp(target), Command::Mux] {
            for padding in [0, 1, 15] {
                let request = Request { command: command.clone(), security: Security::None, ..known() };
                let mut out = Vec::new();
                request.write(&vec![9; padding], &mut out);
                assert_eq!(Request::read(&out), Ok(request));
            }
        }
    }

    #[test]
    fn what_is_cut_or_changed_is_no_header() {
        let good = hex(PLAIN);
        for end in 0..good.len() {
            assert!(Request::read(&good[..end]).is_err(), "{end}");
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(Request::read(&bad).is_err(), "{at}");
        }
        // A right sum over too little.
        let mut short = good[..40].to_vec();
        short.put_u32(fnv(&good[..40]));
        assert_eq!(Request::read(&short), Err(WireError::Malformed { what: "VMess header" }));
    }
}
