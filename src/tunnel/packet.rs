//! IP packets, read and written as far as a tunnel needs it.

use std::net::{IpAddr, SocketAddr};

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    IpAddress, IpProtocol, IpVersion, Ipv4Packet, Ipv4Repr, Ipv6Packet, Ipv6Repr, TcpPacket, UdpPacket, UdpRepr,
};

use super::ends::Ends;

/// What a packet holds.
#[derive(Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    /// A piece of a connection.
    Tcp {
        /// Whose.
        ends: Ends,
        /// Whether it opens one.
        opens: bool,
    },
    /// A datagram.
    Udp {
        /// Whose.
        ends: Ends,
        /// What is in it.
        payload: &'a [u8],
    },
}

/// Hops that a packet may make, as most systems have it.
const HOPS: u8 = 64;

/// Bytes of the longer IP header and of UDP's.
const HEADERS: usize = 40 + 8;

/// Reads a packet. None for all that is neither whole TCP nor whole UDP: fragments, ICMP, extension headers, and what lies
/// about its lengths. Checksums are not looked at, since a tunnel's packets are authenticated.
#[must_use]
pub fn read(packet: &[u8]) -> Option<Packet<'_>> {
    // The library looks at the first byte of what is empty too.
    packet.first()?;
    let (from, to, protocol, inner): (IpAddr, IpAddr, _, _) = match IpVersion::of_packet(packet).ok()? {
        IpVersion::Ipv4 => {
            let ip = Ipv4Packet::new_checked(packet).ok()?;
            if ip.more_frags() || ip.frag_offset() != 0 {
                return None;
            }
            (
                ip.src_addr().into(),
                ip.dst_addr().into(),
                ip.next_header(),
                packet_of(packet, ip.header_len().into(), ip.total_len().into())?,
            )
        }
        IpVersion::Ipv6 => {
            let ip = Ipv6Packet::new_checked(packet).ok()?;
            (
                ip.src_addr().into(),
                ip.dst_addr().into(),
                ip.next_header(),
                packet_of(packet, ip.header_len(), ip.total_len())?,
            )
        }
    };
    match protocol {
        IpProtocol::Tcp => {
            let tcp = TcpPacket::new_checked(inner).ok()?;
            let ends = ends(from, tcp.src_port(), to, tcp.dst_port())?;
            Some(Packet::Tcp { ends, opens: tcp.syn() && !tcp.ack() && !tcp.rst() })
        }
        IpProtocol::Udp => {
            let udp = UdpPacket::new_checked(inner).ok()?;
            let payload = inner.get(8..udp.len().into())?;
            Some(Packet::Udp { ends: ends(from, udp.src_port(), to, udp.dst_port())?, payload })
        }
        _ => None,
    }
}

fn packet_of(packet: &[u8], from: usize, to: usize) -> Option<&[u8]> {
    packet.get(from..to)
}

/// Nobody sits at port 0.
fn ends(from: IpAddr, from_port: u16, to: IpAddr, to_port: u16) -> Option<Ends> {
    (from_port != 0 && to_port != 0)
        .then(|| Ends { from: SocketAddr::new(from, from_port), to: SocketAddr::new(to, to_port) })
}

/// Writes a datagram into `out`, which it empties first. False if the ends are of two families or the whole is longer than
/// `mtu`: nobody here cuts packets.
pub fn write_datagram(ends: Ends, payload: &[u8], mtu: usize, out: &mut Vec<u8>) -> bool {
    out.clear();
    if payload.len() + HEADERS > mtu + if ends.from.is_ipv4() { 20 } else { 0 } {
        return false;
    }
    let udp = UdpRepr { src_port: ends.from.port(), dst_port: ends.to.port() };
    let checks = ChecksumCapabilities::default();
    let (header, source, target) = match (ends.from.ip(), ends.to.ip()) {
        (IpAddr::V4(src_addr), IpAddr::V4(dst_addr)) => {
            let payload_len = 8 + payload.len();
            let ip = Ipv4Repr { src_addr, dst_addr, next_header: IpProtocol::Udp, payload_len, hop_limit: HOPS };
            out.resize(ip.buffer_len() + payload_len, 0);
            ip.emit(&mut Ipv4Packet::new_unchecked(&mut *out), &checks);
            (ip.buffer_len(), IpAddress::Ipv4(src_addr), IpAddress::Ipv4(dst_addr))
        }
        (IpAddr::V6(src_addr), IpAddr::V6(dst_addr)) => {
            let payload_len = 8 + payload.len();
            let ip = Ipv6Repr { src_addr, dst_addr, next_header: IpProtocol::Udp, payload_len, hop_limit: HOPS };
            out.resize(ip.buffer_len() + payload_len, 0);
            ip.emit(&mut Ipv6Packet::new_unchecked(&mut *out));
            (ip.buffer_len(), IpAddress::Ipv6(src_addr), IpAddress::Ipv6(dst_addr))
        }
        _ => return false,
    };
    let Some(place) = out.get_mut(header..) else { return false };
    let mut place = UdpPacket::new_unchecked(place);
    udp.emit(&mut place, &source, &target, payload.len(), |room| room.copy_from_slice(payload), &checks);
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn between(from: &str, to: &str) -> Ends {
        Ends { from: from.parse().unwrap(), to: to.parse().unwrap() }
    }

    #[test]
    fn datagrams_are_read_as_they_were_written() {
        let mut out = vec![];
        for ends in [between("10.0.0.1:5", "10.0.0.2:53"), between("[fd00::1]:5", "[fd00::2]:53")] {
            for payload in [&b""[..], b"x", &[7; 1300]] {
                assert!(write_datagram(ends, payload, 1420, &mut out));
                assert_eq!(read(&out), Some(Packet::Udp { ends, payload }));
                for len in 0..out.len() {
                    assert_eq!(read(&out[..len]), None, "{len}");
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_not_written() {
        let mut out = vec![];
        let v4 = between("10.0.0.1:5", "10.0.0.2:53");
        assert!(write_datagram(v4, &[0; 1392], 1420, &mut out) && out.len() == 1420);
        assert!(!write_datagram(v4, &[0; 1393], 1420, &mut out));
        let v6 = between("[fd00::1]:5", "[fd00::2]:53");
        assert!(write_datagram(v6, &[0; 1372], 1420, &mut out) && out.len() == 1420);
        assert!(!write_datagram(v6, &[0; 1373], 1420, &mut out));
        assert!(!write_datagram(between("10.0.0.1:5", "[fd00::2]:53"), b"x", 1420, &mut out));
    }

    #[test]
    fn pieces_and_other_protocols_are_nothing() {
        let mut out = vec![];
        assert!(write_datagram(between("10.0.0.1:5", "10.0.0.2:53"), b"hello", 1420, &mut out));
        let mut piece = out.clone();
        piece[6] |= 0x20;
        assert_eq!(read(&piece), None);
        let mut ping = out.clone();
        ping[9] = 1;
        assert_eq!(read(&ping), None);
        let mut nowhere = out;
        nowhere[22..24].fill(0);
        assert_eq!(read(&nowhere), None);
        assert_eq!(read(&[]), None);
    }
}
