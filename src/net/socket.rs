//! Sockets with options, before tokio takes them.
//!
//! Every option is set before `bind` or `connect`, since several (mark, device, segment size) count from the first packet
//! on. What a platform cannot do is an error at the moment it is asked for, never silence.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

use super::options::{self, End, RawOption};
use super::race::Race;
use crate::model::sockopt::{FastOpen, SockOpt, Tproxy};

/// What may be set on a socket. The default is what most sockets want: no delay, keep-alive every 45 seconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Packet mark (`SO_MARK`).
    pub mark: Option<u32>,
    /// Name of the network device to dial through (`SO_BINDTODEVICE`).
    pub device: Option<String>,
    /// Local address of dialed sockets; addresses of the other family are then not tried.
    pub bind: Option<IpAddr>,
    /// How several addresses of one server are tried.
    pub race: Race,
    /// TCP keep-alive.
    pub keep_alive: KeepAlive,
    /// How long sent data may stay without acknowledgement (`TCP_USER_TIMEOUT`).
    pub user_timeout: Option<Duration>,
    /// Name of the congestion control.
    pub congestion: Option<String>,
    /// Largest TCP segment.
    pub max_segment: Option<u32>,
    /// Bound of the receive window (`TCP_WINDOW_CLAMP`).
    pub window_clamp: Option<i32>,
    /// TCP Fast Open: whether first bytes go with the request, and how many such requests a listener lets wait.
    pub fast_open: FastOpen,
    /// Options by number, set last.
    pub raw: Vec<RawOption>,
    /// Multipath TCP.
    pub multipath: bool,
    /// A wildcard listener takes IPv6 alone.
    pub v6_only: bool,
    /// Accept and use addresses that are not ours (`IP_TRANSPARENT`, for TPROXY).
    pub transparent: bool,
}

/// TCP keep-alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepAlive {
    /// None.
    Off,
    /// At these times; what is absent is Xray's 45 seconds.
    Every {
        /// Silence before the first probe.
        idle: Option<Duration>,
        /// Time between probes.
        interval: Option<Duration>,
    },
}

impl SocketOptions {
    /// The same from this local address, if there is one.
    #[must_use]
    pub fn bound_to(&self, local: Option<IpAddr>) -> Self {
        Self { bind: local.or(self.bind), ..self.clone() }
    }
}

/// What a configuration says. The local address of dialed sockets is not part of it (`sendThrough` belongs to the outbound).
impl From<&SockOpt> for SocketOptions {
    fn from(set: &SockOpt) -> Self {
        let positive = |n: i32| u32::try_from(n).ok().filter(|n| *n > 0);
        let seconds = |n: i32| positive(n).map(|n| Duration::from_secs(n.into()));
        let text = |text: &String| (!text.is_empty()).then(|| text.clone());
        let (idle, interval) = (set.tcp_keep_alive_idle, set.tcp_keep_alive_interval);
        Self {
            // The kernel takes any 32 bits for a mark.
            mark: Some(set.mark.cast_unsigned()).filter(|mark| *mark != 0),
            device: text(&set.interface),
            bind: None,
            race: set.happy_eyeballs.as_ref().map_or_else(Race::default, Race::from),
            keep_alive: if idle < 0 || interval < 0 {
                KeepAlive::Off
            } else {
                KeepAlive::Every { idle: seconds(idle), interval: seconds(interval) }
            },
            user_timeout: positive(set.tcp_user_timeout).map(|ms| Duration::from_millis(ms.into())),
            congestion: text(&set.tcp_congestion),
            max_segment: positive(set.tcp_max_seg),
            window_clamp: Some(set.tcp_window_clamp).filter(|size| *size > 0),
            fast_open: set.tcp_fast_open,
            raw: set.custom.iter().filter_map(RawOption::of).collect(),
            multipath: set.tcp_mptcp,
            v6_only: set.v6only,
            transparent: set.tproxy == Tproxy::Tproxy,
        }
    }
}

impl Default for KeepAlive {
    fn default() -> Self {
        Self::Every { idle: None, interval: None }
    }
}

const USUAL_KEEP_ALIVE: Duration = Duration::from_secs(45);

/// Bytes that may wait at a socket that many connections share (quic-go's).
const ROOM: usize = 7 * 1024 * 1024;

/// Connections waiting to be accepted; the kernel cuts it to `somaxconn`.
const BACKLOG: i32 = 4096;

/// A listening TCP socket. `0.0.0.0` takes IPv6 as well where there is any, as Go's listeners do, because configs written
/// for those rely on it.
///
/// # Errors
/// Whatever the kernel says.
pub(super) fn listener(at: SocketAddr, options: &SocketOptions) -> io::Result<std::net::TcpListener> {
    let socket = bound(at, options, Type::STREAM)?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// A bound UDP socket; wildcards as with [`listener`].
///
/// # Errors
/// Whatever the kernel says.
pub(super) fn datagrams(at: SocketAddr, options: &SocketOptions) -> io::Result<std::net::UdpSocket> {
    bound(at, options, Type::DGRAM).map(Into::into)
}

/// A UDP socket for sending to one family from a port of the kernel's choice.
///
/// # Errors
/// Whatever the kernel says.
pub(super) fn outgoing_datagrams(to: SocketAddr, options: &SocketOptions) -> io::Result<std::net::UdpSocket> {
    let socket = prepared(Domain::for_address(to), Type::DGRAM, End::Dials, options)?;
    let any = if to.is_ipv4() { SocketAddr::from(([0; 4], 0)) } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    let from = options.bind.map_or(any, |ip| SocketAddr::new(ip, 0));
    socket.bind(&from.into())?;
    Ok(socket.into())
}

/// Gives a socket room for the packets of many connections, as far as the kernel lets: what it drops instead has to be sent
/// again, and beginnings only after a second. What a configuration sets by number stays.
pub(super) fn make_room(socket: &std::net::UdpSocket, options: &SocketOptions) {
    if options.raw.is_empty() {
        let socket = SockRef::from(socket);
        // Less room is no reason not to run.
        let _ = socket.set_recv_buffer_size(ROOM);
        let _ = socket.set_send_buffer_size(ROOM);
    }
}

/// A TCP socket that is ready to be connected.
///
/// # Errors
/// Whatever the kernel says.
pub(super) fn outgoing(to: SocketAddr, options: &SocketOptions) -> io::Result<std::net::TcpStream> {
    let socket = prepared(Domain::for_address(to), Type::STREAM, End::Dials, options)?;
    if let Some(ip) = options.bind {
        socket.bind(&SocketAddr::new(ip, 0).into())?;
    }
    Ok(socket.into())
}

/// Where a connection was headed before the firewall redirected it to us.
///
/// # Errors
/// Whatever the kernel says, and [`io::ErrorKind::Unsupported`] where redirecting is not known.
#[cfg(target_os = "linux")]
pub fn original_destination(stream: &tokio::net::TcpStream) -> io::Result<SocketAddr> {
    let socket = SockRef::from(stream);
    let v4 = stream.local_addr()?.ip().to_canonical().is_ipv4();
    let found = if v4 { socket.original_dst_v4()? } else { socket.original_dst_v6()? };
    found.as_socket().ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// Where a connection was headed before the firewall redirected it to us.
///
/// # Errors
/// Always [`io::ErrorKind::Unsupported`] on this platform.
#[cfg(not(target_os = "linux"))]
pub fn original_destination(_: &tokio::net::TcpStream) -> io::Result<SocketAddr> {
    Err(io::ErrorKind::Unsupported.into())
}

fn bound(at: SocketAddr, options: &SocketOptions, kind: Type) -> io::Result<Socket> {
    let dual = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), at.port());
    if at.ip().is_unspecified() && at.is_ipv4() {
        // Port 0 would give each family its own port, and only a missing IPv6 is a reason to go on with IPv4 alone.
        match bind(dual, options, kind) {
            Err(error) if no_v6(&error) => {}
            done => return done,
        }
    }
    bind(at, options, kind)
}

fn bind(at: SocketAddr, options: &SocketOptions, kind: Type) -> io::Result<Socket> {
    let socket = prepared(Domain::for_address(at), kind, End::Listens, options)?;
    if at.is_ipv6() {
        socket.set_only_v6(options.v6_only)?;
    }
    if kind == Type::STREAM {
        #[cfg(unix)]
        socket.set_reuse_address(true)?;
    }
    // So that an old and a new process can overlap at an upgrade. A datagram socket on any port is nobody's door.
    #[cfg(all(unix, not(any(target_os = "solaris", target_os = "illumos"))))]
    if kind == Type::STREAM || at.port() != 0 {
        socket.set_reuse_port(true)?;
    }
    socket.bind(&at.into())?;
    Ok(socket)
}

fn no_v6(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::AFNOSUPPORT, Errno::ADDRNOTAVAIL, Errno::PROTONOSUPPORT]
        .iter()
        .any(|no| error.raw_os_error() == Some(no.raw_os_error()))
}

fn prepared(domain: Domain, kind: Type, end: End, options: &SocketOptions) -> io::Result<Socket> {
    let socket = unblocking(domain, kind, protocol(kind, options))?;
    if kind == Type::STREAM {
        stream_options(&socket, options)?;
    }
    platform_options(&socket, domain, kind, options)?;
    if end == End::Dials {
        device(&socket, options)?;
    }
    if kind == Type::STREAM {
        options::stream(&socket, end, options.fast_open, options.window_clamp)?;
    }
    options::raw(&socket, domain, kind, &options.raw)?;
    Ok(socket)
}

/// A socket that never blocks, by one call where the kernel has one: every dial pays for it.
fn unblocking(domain: Domain, kind: Type, protocol: Option<Protocol>) -> io::Result<Socket> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let socket = Socket::new(domain, kind.nonblocking(), protocol)?;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let socket = Socket::new(domain, kind, protocol)?;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn protocol(kind: Type, options: &SocketOptions) -> Option<Protocol> {
    #[cfg(target_os = "linux")]
    if kind == Type::STREAM && options.multipath {
        return Some(Protocol::MPTCP);
    }
    let _ = options;
    Some(if kind == Type::STREAM { Protocol::TCP } else { Protocol::UDP })
}

fn stream_options(socket: &Socket, options: &SocketOptions) -> io::Result<()> {
    socket.set_tcp_nodelay(true)?;
    let (idle, interval) = match options.keep_alive {
        KeepAlive::Off => return Ok(()),
        KeepAlive::Every { idle, interval } => (idle, interval),
    };
    let times = TcpKeepalive::new()
        .with_time(idle.unwrap_or(USUAL_KEEP_ALIVE))
        .with_interval(interval.unwrap_or(USUAL_KEEP_ALIVE));
    socket.set_tcp_keepalive(&times)
}

/// Keeps a socket that dials to one device. Configs name it at listeners too, where it means nothing (in Xray neither).
#[cfg(target_os = "linux")]
fn device(socket: &Socket, options: &SocketOptions) -> io::Result<()> {
    options.device.as_ref().map_or(Ok(()), |device| socket.bind_device(Some(device.as_bytes())))
}

#[cfg(not(target_os = "linux"))]
fn device(_: &Socket, options: &SocketOptions) -> io::Result<()> {
    options.device.as_ref().map_or(Ok(()), |_| Err(io::ErrorKind::Unsupported.into()))
}

#[cfg(target_os = "linux")]
fn platform_options(socket: &Socket, domain: Domain, kind: Type, options: &SocketOptions) -> io::Result<()> {
    if let Some(mark) = options.mark {
        socket.set_mark(mark)?;
    }
    if options.transparent && domain == Domain::IPV4 {
        socket.set_ip_transparent_v4(true)?;
    } else if options.transparent {
        socket.set_ip_transparent_v6(true)?;
    }
    if kind == Type::STREAM {
        if options.user_timeout.is_some() {
            socket.set_tcp_user_timeout(options.user_timeout)?;
        }
        if let Some(name) = &options.congestion {
            socket.set_tcp_congestion(name.as_bytes())?;
        }
        if let Some(size) = options.max_segment {
            socket.set_tcp_mss(size)?;
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn platform_options(_: &Socket, _: Domain, _: Type, options: &SocketOptions) -> io::Result<()> {
    let plain = SocketOptions {
        bind: options.bind,
        race: options.race.clone(),
        keep_alive: options.keep_alive,
        v6_only: options.v6_only,
        device: options.device.clone(),
        fast_open: options.fast_open,
        window_clamp: options.window_clamp,
        raw: options.raw.clone(),
        ..SocketOptions::default()
    };
    if *options == plain { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_listener_takes_both_families() {
        let listener = listener(([0, 0, 0, 0], 0).into(), &SocketOptions::default()).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        if listener.local_addr().unwrap().is_ipv6() {
            std::net::TcpStream::connect(("::1", port)).unwrap();
        }
    }

    #[test]
    fn a_configuration_says_what_is_set() {
        assert_eq!(SocketOptions::from(&SockOpt::default()), SocketOptions::default());
        let set = SockOpt {
            mark: -1,
            tcp_keep_alive_idle: -1,
            tcp_user_timeout: 1500,
            interface: "eth9".into(),
            tproxy: Tproxy::Tproxy,
            ..SockOpt::default()
        };
        let options = SocketOptions::from(&set);
        assert_eq!((options.mark, options.keep_alive), (Some(u32::MAX), KeepAlive::Off));
        assert_eq!(options.user_timeout, Some(Duration::from_millis(1500)));
        assert_eq!((options.device.as_deref(), options.transparent), (Some("eth9"), true));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_is_for_who_dials() {
        let options = SocketOptions { device: Some("lo".into()), ..SocketOptions::default() };
        let near = outgoing(([127, 0, 0, 1], 1).into(), &options).unwrap();
        assert_eq!(SockRef::from(&near).device().unwrap().as_deref(), Some(&b"lo"[..]));
        let door = listener(([127, 0, 0, 1], 0).into(), &options).unwrap();
        assert_eq!(SockRef::from(&door).device().unwrap(), None);
    }

    #[test]
    fn options_reach_the_socket() {
        let options = SocketOptions {
            keep_alive: KeepAlive::Every { idle: Some(Duration::from_secs(7)), interval: None },
            ..SocketOptions::default()
        };
        let stream = outgoing(([127, 0, 0, 1], 1).into(), &options).unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap() && socket.tcp_nodelay().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), Duration::from_secs(7));
        let off = SocketOptions { keep_alive: KeepAlive::Off, ..SocketOptions::default() };
        let stream = outgoing(([127, 0, 0, 1], 1).into(), &off).unwrap();
        assert!(!SockRef::from(&stream).keepalive().unwrap());
    }
}
