//! What both sides announce of datagrams, changed on its way between TLS and the library.
//!
//! Clients of Hysteria in Xray no longer announce that they take any, so as to look like browsers, and take them all the
//! same. The library sends none to such a peer. So where a peer announces nothing, its parameters are completed, as if it had
//! announced what everybody takes.
//!
//! And we announce what everybody takes, not the largest number that there is: of peers in Go, those that are told of more
//! than a packet holds lose datagrams that are a little too long, instead of cutting them.

use std::any::Any;
use std::sync::Arc;

use quinn::crypto::{
    ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session,
    UnsupportedVersion,
};
use quinn::{ConnectError, ConnectionId, Side};
use quinn_proto::TransportError;
use quinn_proto::transport_parameters::TransportParameters;

/// `max_datagram_frame_size` (RFC 9221).
const SIZE: u64 = 0x20;
/// The same with 1200 bytes, as Xray has it.
const ANNOUNCED: [u8; 4] = [0x20, 2, 0x44, 0xb0];

/// Makes sessions with peers whose parameters are completed.
pub(super) struct Completed<T: ?Sized>(pub(super) Arc<T>);

impl ServerConfig for Completed<dyn ServerConfig> {
    fn initial_keys(&self, version: u32, dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.0.initial_keys(version, dst_cid)
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.0.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(self: Arc<Self>, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        let inner = Arc::clone(&self.0).start_session(version, &narrowed(params, Side::Client));
        Box::new(Lenient { inner, side: Side::Server })
    }
}

impl ClientConfig for Completed<dyn ClientConfig> {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = Arc::clone(&self.0).start_session(version, server_name, &narrowed(params, Side::Server))?;
        Ok(Box::new(Lenient { inner, side: Side::Client }))
    }
}

/// A session whose peer announces datagrams, whether it does or not.
struct Lenient {
    inner: Box<dyn Session>,
    side: Side,
}

/// The same parameters, completed. Where the parameter stands there already, another is a mistake, and nothing is added.
fn completed(params: TransportParameters, side: Side) -> TransportParameters {
    let mut written = vec![];
    params.write(&mut written);
    written.extend_from_slice(&ANNOUNCED);
    TransportParameters::read(side, &mut &written[..]).unwrap_or(params)
}

/// Our own parameters with the size that everybody takes, as the other `side` reads them.
fn narrowed(params: &TransportParameters, side: Side) -> TransportParameters {
    let mut written = vec![];
    params.write(&mut written);
    let mut narrow = Vec::with_capacity(written.len());
    let mut rest = &written[..];
    while let Some((parameter, id, after)) = parameter(rest) {
        if id != SIZE {
            narrow.extend_from_slice(parameter);
        }
        rest = after;
    }
    narrow.extend_from_slice(&ANNOUNCED);
    TransportParameters::read(side, &mut &narrow[..]).unwrap_or(*params)
}

/// The first of several parameters whole, its number, and what is behind it.
fn parameter(bytes: &[u8]) -> Option<(&[u8], u64, &[u8])> {
    let (id, rest) = number(bytes)?;
    let (len, rest) = number(rest)?;
    let rest = rest.get(usize::try_from(len).ok()?..)?;
    let (parameter, rest) = bytes.split_at_checked(bytes.len() - rest.len())?;
    Some((parameter, id, rest))
}

/// A number of QUIC's, and what is behind it.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let len = 1usize << (bytes.first()? >> 6);
    let (number, rest) = bytes.split_at_checked(len)?;
    let value = number.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    Some((value & u64::MAX >> (66 - 8 * len), rest))
}

impl Session for Lenient {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(dst_cid, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(buf)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.inner.transport_parameters()?.map(|params| completed(params, self.side)))
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        self.inner.write_handshake(buf)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.inner.next_1rtt_keys()
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn written(params: &TransportParameters) -> Vec<u8> {
        let mut written = vec![];
        params.write(&mut written);
        written
    }

    #[test]
    fn what_is_not_announced_is_added_and_the_rest_stays() {
        let read = |mut bytes: &[u8]| TransportParameters::read(Side::Server, &mut bytes).unwrap();
        // An idle time, and a window.
        let plain = read(&[1, 2, 0x67, 0x10, 4, 4, 0x80, 1, 0, 0]);
        let more = completed(plain, Side::Server);
        assert_ne!(written(&more), written(&plain));
        assert_eq!(
            written(&more),
            written(&read(&[&[1, 2, 0x67, 0x10, 4, 4, 0x80, 1, 0, 0][..], &ANNOUNCED].concat()))
        );
        let announced = read(&[0x20, 4, 0x80, 1, 0, 0]);
        assert_eq!(written(&completed(announced, Side::Server)), written(&announced));
        // And our own say what everybody takes, whatever the library would say.
        assert_eq!(written(&narrowed(&announced, Side::Server)), written(&read(&ANNOUNCED)));
        assert_eq!(written(&narrowed(&plain, Side::Server)), written(&more));
    }
}
