//! `geosite.dat` and `geoip.dat`: one protobuf list of entries, each with a code. No index and no checksum, so a file is
//! read once from front to back, and only the entries that somebody wants are decoded.
//!
//! Message and field numbers: `common/geodata` of XTLS/Xray-core and `app/router/routercommon/common.proto` of
//! v2fly/v2ray-core. Fields that neither names are passed over.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::net::IpAddr;

use ipnet::IpNet;

use super::fault::DatError;
use super::protobuf::{BYTES, FIXED32, FIXED64, Fields, LONGEST, VARINT, Value, varint};
use crate::model::lists::Holds;

/// A pass over a file, entry by entry.
#[derive(Debug)]
pub struct Scan<R> {
    file: BufReader<R>,
    at: u64,
    len: u64,
    /// What is left of the entry at hand and was not read.
    rest: u64,
    entry: Vec<u8>,
    /// Where the entry at hand begins.
    begin: u64,
}

/// An entry's name and size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// As the file writes it, usually upper-case.
    pub name: String,
    /// Bytes of its body.
    pub size: u64,
}

/// Bytes of an entry that are read to see its code: a tag, a length, and the longest code that people use by far.
const HEAD: u64 = 256;

/// The largest entry that is read; the largest that people use has three megabytes.
const LARGEST: u64 = 256 << 20;

impl<R: Read + Seek> Scan<R> {
    /// Begins a pass.
    ///
    /// # Errors
    /// Those of the file.
    pub fn new(mut file: R) -> io::Result<Self> {
        let len = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(0))?;
        let file = BufReader::with_capacity(64 << 10, file);
        Ok(Self { file, at: 0, len, rest: 0, entry: vec![], begin: 0 })
    }

    /// Goes on to the next entry; what was not read of the last one is skipped.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] with a [`DatError`] inside for a file that is no list of entries; those of the file.
    pub fn next_entry(&mut self) -> io::Result<Option<Code>> {
        loop {
            self.skip(self.rest)?;
            self.rest = 0;
            let place = self.at;
            if place == self.len {
                return Ok(None);
            }
            let tag = self.number("an entry's tag cannot be read")?;
            match (tag >> 3, tag & 7) {
                (1, BYTES) => {
                    let size = self.size(place)?;
                    self.begin = self.at;
                    self.rest = size;
                    self.entry.clear();
                    self.read(size.min(HEAD))?;
                    let name = match code(&self.entry) {
                        Some(name) => name,
                        None => {
                            self.read(self.rest)?;
                            code_anywhere(&self.entry, self.begin).map_err(invalid)?
                        }
                    };
                    return Ok(Some(Code { name, size }));
                }
                (_, VARINT) => _ = self.number("a number cannot be read")?,
                (_, BYTES) => {
                    let size = self.size(place)?;
                    self.skip(size)?;
                }
                (_, FIXED64) => self.skip(8)?,
                (_, FIXED32) => self.skip(4)?,
                _ => return Err(invalid(DatError { at: place, what: "not a list of geodata" })),
            }
        }
    }

    /// The whole body of the entry at hand, and where it begins in the file.
    ///
    /// # Errors
    /// Those of the file.
    pub fn body(&mut self) -> io::Result<(&[u8], u64)> {
        self.read(self.rest)?;
        Ok((&self.entry, self.begin))
    }

    fn read(&mut self, more: u64) -> io::Result<()> {
        // No more than the file holds is ever asked for; but a file may have holes, and say that it is huge.
        if self.entry.len() as u64 + more > LARGEST {
            return Err(invalid(DatError { at: self.begin, what: "an entry is larger than any list can be" }));
        }
        let read = (&mut self.file).take(more).read_to_end(&mut self.entry)? as u64;
        self.at += read;
        self.rest -= read.min(self.rest);
        if read < more { Err(invalid(DatError { at: self.at, what: "the file ends within an entry" })) } else { Ok(()) }
    }

    fn skip(&mut self, more: u64) -> io::Result<()> {
        if more > self.len.saturating_sub(self.at) {
            return Err(invalid(DatError { at: self.at, what: "the file ends within a field" }));
        }
        self.file.seek_relative(i64::try_from(more).unwrap_or(i64::MAX))?;
        self.at += more;
        Ok(())
    }

    fn size(&mut self, place: u64) -> io::Result<u64> {
        let size = self.number("a length cannot be read")?;
        if size > self.len - self.at {
            return Err(invalid(DatError { at: place, what: "an entry reaches past the end of the file" }));
        }
        Ok(size)
    }

    fn number(&mut self, what: &'static str) -> io::Result<u64> {
        let place = self.at;
        let mut bytes = [0; LONGEST];
        for n in 0..LONGEST {
            if self.at == self.len {
                break;
            }
            self.file.read_exact(&mut bytes[n..=n])?;
            self.at += 1;
            if bytes[n] & 0x80 == 0 {
                return varint(&bytes).map(|(number, _)| number).ok_or_else(|| invalid(DatError { at: place, what }));
            }
        }
        Err(invalid(DatError { at: place, what }))
    }
}

fn invalid(error: DatError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// The code, where it is the entry's first field and not cut off.
fn code(head: &[u8]) -> Option<String> {
    let (tag, used) = varint(head)?;
    if tag != 1 << 3 | BYTES {
        return None;
    }
    let (len, more) = varint(head.get(used..)?)?;
    let begin = used + more;
    let end = begin.checked_add(usize::try_from(len).ok()?)?;
    let bytes = head.get(begin..end)?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

/// The code, wherever it stands.
fn code_anywhere(entry: &[u8], base: u64) -> Result<String, DatError> {
    let mut fields = Fields::new(entry, base);
    while let Some((field, value)) = fields.next()? {
        if let (1, Value::Bytes(bytes)) = (field, value) {
            return Ok(String::from_utf8_lossy(bytes).into_owned());
        }
    }
    Ok(String::new())
}

/// How a name of a list is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiteKind {
    /// Any name that contains the text.
    Keyword,
    /// Any name in which the expression is found.
    Regex,
    /// The name and those below it.
    Suffix,
    /// The name alone.
    Full,
    /// A kind that nobody knows.
    Other(u64),
}

/// A name of a list.
#[derive(Debug, Clone)]
pub struct Site<'a> {
    /// How it is meant.
    pub kind: SiteKind,
    /// The text; nothing if it is not UTF-8.
    pub value: Option<&'a str>,
    fields: Fields<'a>,
}

impl<'a> Site<'a> {
    fn read(message: &'a [u8], base: u64) -> Result<Self, DatError> {
        let all = Fields::new(message, base);
        let (mut kind, mut value) = (SiteKind::Keyword, Some(""));
        let mut fields = all.clone();
        while let Some((field, content)) = fields.next()? {
            match (field, content) {
                (1, Value::Number(0)) => kind = SiteKind::Keyword,
                (1, Value::Number(1)) => kind = SiteKind::Regex,
                (1, Value::Number(2)) => kind = SiteKind::Suffix,
                (1, Value::Number(3)) => kind = SiteKind::Full,
                (1, Value::Number(other)) => kind = SiteKind::Other(other),
                (2, Value::Bytes(text)) => value = std::str::from_utf8(text).ok(),
                _ => {}
            }
        }
        Ok(Self { kind, value, fields: all })
    }

    /// The keys of its attributes, as the file writes them; their values mean nothing.
    pub fn attributes(&self) -> impl Iterator<Item = &'a str> {
        let mut fields = self.fields.clone();
        // The message was walked once already, so there is no fault left to find.
        std::iter::from_fn(move || fields.next().ok().flatten()).filter_map(|(field, value)| match (field, value) {
            (3, Value::Bytes(attribute)) => Some(key(attribute)),
            _ => None,
        })
    }

    /// Whether it has an attribute, in any letter case.
    #[must_use]
    pub fn has(&self, attribute: &str) -> bool {
        self.attributes().any(|key| key.eq_ignore_ascii_case(attribute))
    }
}

fn key(attribute: &[u8]) -> &str {
    let mut fields = Fields::new(attribute, 0);
    while let Ok(Some((field, value))) = fields.next() {
        if let (1, Value::Bytes(key)) = (field, value) {
            return std::str::from_utf8(key).unwrap_or_default();
        }
    }
    ""
}

/// What an entry holds, as its first member shows; nothing if it is empty. A file does not say what kind it is.
///
/// # Errors
/// [`DatError`] for a member that cannot be read.
pub fn holds(entry: &[u8], base: u64) -> Result<Option<Holds>, DatError> {
    let Some(found) = members(entry, base).next() else { return Ok(None) };
    let (message, at) = found?;
    let mut fields = Fields::new(message, at);
    while let Some((field, value)) = fields.next()? {
        // The first field of a network is its address; of a name, a number, or nothing for a keyword.
        if let (1, Value::Bytes(_)) = (field, value) {
            return Ok(Some(Holds::Networks));
        }
    }
    Ok(Some(Holds::Names))
}

/// The names of an entry of `geosite.dat`; `base` is where the entry begins in its file.
pub fn sites(entry: &[u8], base: u64) -> impl Iterator<Item = Result<Site<'_>, DatError>> {
    members(entry, base).map(|found| found.and_then(|(message, at)| Site::read(message, at)))
}

/// The networks of an entry of `geoip.dat`; nothing stands for one that is none, which loaders pass over.
pub fn networks(entry: &[u8], base: u64) -> impl Iterator<Item = Result<Option<IpNet>, DatError>> {
    members(entry, base).map(|found| found.and_then(|(message, at)| network(message, at)))
}

/// Field 2 of an entry, time and again, each with its place.
fn members(entry: &[u8], base: u64) -> impl Iterator<Item = Result<(&[u8], u64), DatError>> {
    let mut fields = Fields::new(entry, base);
    let mut over = false;
    std::iter::from_fn(move || {
        while !over {
            match fields.next() {
                // The message is the end of its field.
                Ok(Some((2, Value::Bytes(message)))) => {
                    return Some(Ok((message, fields.place() - message.len() as u64)));
                }
                Ok(Some(_)) => {}
                Ok(None) => over = true,
                Err(error) => {
                    over = true;
                    return Some(Err(error));
                }
            }
        }
        None
    })
}

fn network(message: &[u8], base: u64) -> Result<Option<IpNet>, DatError> {
    let (mut ip, mut bits) = (None, 0u64);
    let mut fields = Fields::new(message, base);
    while let Some((field, value)) = fields.next()? {
        match (field, value) {
            (1, Value::Bytes(bytes)) => ip = address(bytes),
            (2, Value::Number(prefix)) => bits = prefix,
            _ => {}
        }
    }
    Ok(ip.zip(u8::try_from(bits).ok()).and_then(|(ip, bits)| net(ip, bits)))
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        _ => None,
    }
}

/// A network with its host bits cleared. A mapped IPv4 address in IPv6 form is the IPv4 network, since looked-up addresses
/// are unmapped too; Xray's would never match.
fn net(ip: IpAddr, bits: u8) -> Option<IpNet> {
    match (ip, ip.to_canonical()) {
        (IpAddr::V6(_), IpAddr::V4(v4)) if (96..=128).contains(&bits) => IpNet::new(v4.into(), bits - 96).ok(),
        _ => IpNet::new(ip, bits).ok(),
    }
    .map(|net| net.trunc())
}

#[cfg(test)]
mod tests;
