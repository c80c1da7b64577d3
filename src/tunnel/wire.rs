//! The device of a connection's stack: one packet goes in at most, and what comes out leaves at once.

use smoltcp::phy::{Checksum, ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

/// Where a stack's packets go for the time of one call.
pub(super) struct Wire<'a> {
    pub(super) mtu: usize,
    /// What came.
    pub(super) packet: Option<&'a [u8]>,
    /// Room for what leaves.
    pub(super) scratch: &'a mut Vec<u8>,
    /// Takes what leaves.
    pub(super) send: &'a mut dyn FnMut(&[u8]),
}

/// A packet that came.
pub(super) struct Came<'a>(&'a [u8]);

/// A packet that may leave.
pub(super) struct Leaves<'a> {
    scratch: &'a mut Vec<u8>,
    send: &'a mut dyn FnMut(&[u8]),
}

impl Device for Wire<'_> {
    type RxToken<'b>
        = Came<'b>
    where
        Self: 'b;
    type TxToken<'b>
        = Leaves<'b>
    where
        Self: 'b;

    fn receive(&mut self, _: Instant) -> Option<(Came<'_>, Leaves<'_>)> {
        let packet = self.packet.take()?;
        Some((Came(packet), Leaves { scratch: self.scratch, send: self.send }))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaves<'_>> {
        Some(Leaves { scratch: self.scratch, send: self.send })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut able = DeviceCapabilities::default();
        able.medium = Medium::Ip;
        able.max_transmission_unit = self.mtu;
        // What came through the tunnel is authenticated as a whole.
        able.checksum = ChecksumCapabilities::ignored();
        (able.checksum.ipv4, able.checksum.tcp) = (Checksum::Tx, Checksum::Tx);
        able
    }
}

impl RxToken for Came<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

impl TxToken for Leaves<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        // A stack writes every byte of its packet.
        self.scratch.resize(len, 0);
        let done = f(self.scratch);
        (self.send)(self.scratch);
        done
    }
}
