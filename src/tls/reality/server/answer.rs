//! What there is to learn from the site's first answer.

use super::super::super::tls13::{APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE, HEADER, ServerHello, header};
use crate::wire::WireError;

/// The site's hello, and how long its records behind it are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// Its hello.
    pub(super) hello: ServerHello,
    /// Its messages under protection.
    pub(super) shape: Shape,
    /// Records behind its Finished that came along with it.
    pub(super) more: Vec<usize>,
}

/// Lengths of records, with their headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// All messages are in one record.
    Joined(usize),
    /// EncryptedExtensions, Certificate, CertificateVerify and Finished have one each.
    Apart([usize; 4]),
}

/// A first record longer than this is not EncryptedExtensions alone.
const ALONE: usize = 512;
/// Most records behind the Finished.
const MORE: usize = 8;

impl Answer {
    /// Reads what the site said so far.
    ///
    /// # Errors
    /// [`WireError::Truncated`] while more is needed, others if we could not answer like that.
    pub(super) fn read(said: &[u8]) -> Result<Self, WireError> {
        let mut records = Records { rest: said };
        let hello = ServerHello::read(records.whole(HANDSHAKE)?).map_err(|error| match error {
            // The record is whole, so what is missing inside of it will not come.
            WireError::Truncated { .. } => WireError::Malformed { what: "ServerHello" },
            other => other,
        })?;
        if records.whole(CHANGE_CIPHER_SPEC)? != [1] {
            return Err(WireError::Malformed { what: "ChangeCipherSpec" });
        }
        let first = records.begun()?;
        if first > ALONE {
            // What stands behind one long record cannot be told, nor is it needed.
            return Ok(Self { hello, shape: Shape::Joined(first), more: vec![] });
        }
        let mut lengths = [0; 4];
        for length in &mut lengths {
            *length = HEADER + records.whole(APPLICATION_DATA)?.len();
        }
        let mut more = vec![];
        while !records.rest.is_empty() && more.len() < MORE {
            more.push(records.begun()?);
            records.rest = records.rest.get(more[more.len() - 1]..).unwrap_or_default();
        }
        Ok(Self { hello, shape: Shape::Apart(lengths), more })
    }
}

struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Records<'a> {
    /// The body of the next record, which is of that kind.
    fn whole(&mut self, wanted: u8) -> Result<&'a [u8], WireError> {
        let (kind, len) = header(self.rest)?;
        if kind != wanted {
            return Err(WireError::Malformed { what: "TLS record" });
        }
        let Some((body, rest)) = self.rest[HEADER..].split_at_checked(len) else {
            return Err(WireError::Truncated { need: HEADER + len - self.rest.len() });
        };
        self.rest = rest;
        Ok(body)
    }

    /// The length of the next record under protection, of which the header is there.
    fn begun(&self) -> Result<usize, WireError> {
        match header(self.rest)? {
            (APPLICATION_DATA, len) => Ok(HEADER + len),
            _ => Err(WireError::Malformed { what: "TLS record" }),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn record(kind: u8, body: &[u8]) -> Vec<u8> {
        let [high, low] = u16::try_from(body.len()).unwrap().to_be_bytes();
        [&[kind, 3, 3, high, low][..], body].concat()
    }

    /// A ServerHello with these extensions.
    fn hello(extensions: &[&[u8]]) -> Vec<u8> {
        let extensions = extensions.concat();
        let head = [&[3, 3][..], &[7; 32], &[32], &[9; 32], &[0x13, 0x01, 0], &[0, extensions.len() as u8]].concat();
        [&[2, 0, 0, (head.len() + extensions.len()) as u8][..], &head, &extensions].concat()
    }

    const VERSION: &[u8] = &[0, 43, 0, 2, 3, 4];

    fn share() -> Vec<u8> {
        [&[0, 51, 0, 36, 0, 29, 0, 32][..], &[1; 32]].concat()
    }

    fn flight(lengths: &[usize]) -> Vec<u8> {
        let mut said = [record(22, &hello(&[&share(), VERSION])), record(20, &[1])].concat();
        lengths.iter().for_each(|len| said.extend(record(23, &vec![0; *len])));
        said
    }

    #[test]
    fn lengths_are_learnt_from_the_records_however_they_arrive() {
        let said = flight(&[27, 900, 100, 53]);
        for len in 0..said.len() {
            assert!(matches!(Answer::read(&said[..len]), Err(WireError::Truncated { .. })), "{len}");
        }
        let answer = Answer::read(&said).unwrap();
        assert_eq!((answer.shape, answer.more), (Shape::Apart([32, 905, 105, 58]), vec![]));
        let tickets = flight(&[27, 900, 100, 53, 250, 240]);
        assert_eq!(Answer::read(&tickets).unwrap().more, [255, 245]);
        assert_eq!(Answer::read(&tickets[..tickets.len() - 245]).unwrap().more, [255]);
        assert!(matches!(Answer::read(&tickets[..tickets.len() - 242]), Err(WireError::Truncated { need: 2 })));
        let joined = flight(&[4000]);
        let seen = joined.len() - 4000;
        assert_eq!(Answer::read(&joined[..seen]).unwrap().shape, Shape::Joined(4005));
    }

    #[test]
    fn what_we_could_not_say_ourselves_is_unusual() {
        let unusual = |said: &[u8]| !matches!(Answer::read(said), Ok(_) | Err(WireError::Truncated { .. }));
        // TLS 1.2, a request for another hello, another group, a resumed session.
        let retry = [0, 51, 0, 2, 0, 29];
        let curve = [&[0, 51, 0, 36, 0, 23, 0, 32][..], &[1; 32]].concat();
        let resumed = [0, 41, 0, 2, 0, 0];
        for extensions in [&[&share()[..]][..], &[VERSION, &retry], &[VERSION, &curve], &[VERSION, &share(), &resumed]]
        {
            assert!(unusual(&record(22, &hello(extensions))), "{extensions:?}");
        }
        assert!(unusual(&record(21, &[2, 40])));
        assert!(unusual(b"HTTP/1.1 400 Bad Request"));
        assert!(unusual(&[record(22, &hello(&[VERSION, &share()])), record(23, &[0; 30])].concat()));
        assert!(unusual(&record(22, &hello(&[VERSION, &share()])[..60])), "cut inside of its record");
    }

    #[test]
    fn only_the_share_is_exchanged() {
        let before = hello(&[VERSION, &share(), &[0, 99, 0, 0]]);
        let answer = Answer::read(&[record(22, &before), record(20, &[1]), record(23, &[0; 600])].concat()).unwrap();
        let after = answer.hello.with_share(&[4; 32]);
        let differs: Vec<_> = (0..before.len()).filter(|at| before[*at] != after[*at]).collect();
        assert_eq!((after.len(), differs.len()), (before.len(), 32));
        assert_eq!(after[differs[0]..=differs[31]], [4; 32]);
    }
}
