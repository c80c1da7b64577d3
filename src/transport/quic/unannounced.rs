//! Peers that take datagrams without saying so.
//!
//! Clients of Hysteria in Xray no longer announce that they take any, so as to look like browsers, and take them all the
//! same. The library sends none to such a peer. So where a peer announces nothing, its parameters are completed here, between
//! TLS and the library, as if it had announced what everybody takes.

use std::any::Any;
use std::sync::Arc;

use quinn::crypto::{
    ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session,
    UnsupportedVersion,
};
use quinn::{ConnectError, ConnectionId, Side};
use quinn_proto::TransportError;
use quinn_proto::transport_parameters::TransportParameters;

/// `max_datagram_frame_size` (RFC 9221), with 1200 bytes, which Xray's servers take it for.
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
        Box::new(Lenient { inner: Arc::clone(&self.0).start_session(version, params), side: Side::Server })
    }
}

impl ClientConfig for Completed<dyn ClientConfig> {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = Arc::clone(&self.0).start_session(version, server_name, params)?;
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
    }
}
