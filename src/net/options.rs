//! Options of sockets for which there is no call by name, and those that a configuration gives by number.

use std::io;

use socket2::{Domain, Socket, Type};

use crate::model::sockopt::{CustomSockopt, FastOpen, OptValue};

/// What a socket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// To open connections, or to send from.
    Dials,
    /// To be found at an address.
    Listens,
}

/// An option by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawOption {
    /// What the network's name must begin with: `tcp`, `udp4`; empty is every one.
    pub network: String,
    /// The level.
    pub level: i32,
    /// The option.
    pub name: i32,
    /// The value.
    pub value: RawValue,
}

/// The value of an option by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawValue {
    /// A number.
    Number(i32),
    /// A text.
    Text(String),
}

impl RawOption {
    /// What a configuration says, if it is for this system and its numbers can be read.
    pub(super) fn of(written: &CustomSockopt) -> Option<Self> {
        let numbers = written.numbers().filter(|_| written.is_for(std::env::consts::OS))?;
        let value = match numbers.value {
            OptValue::Number(number) => RawValue::Number(number),
            OptValue::Text(text) => RawValue::Text(text.to_owned()),
        };
        Some(Self { network: written.network.clone(), level: numbers.level, name: numbers.opt, value })
    }

    /// Whether it is for sockets of this family and kind.
    fn fits(&self, domain: Domain, kind: Type) -> bool {
        let network = match (kind == Type::STREAM, domain == Domain::IPV4) {
            (true, true) => "tcp4",
            (true, false) => "tcp6",
            (false, true) => "udp4",
            (false, false) => "udp6",
        };
        network.starts_with(&self.network)
    }
}

/// Sets what a TCP socket has no call by name for.
///
/// # Errors
/// Whatever the kernel says.
#[cfg(target_os = "linux")]
pub(super) fn stream(socket: &Socket, end: End, fast_open: FastOpen, window_clamp: Option<i32>) -> io::Result<()> {
    use uapi::c::{IPPROTO_TCP, TCP_FASTOPEN, TCP_FASTOPEN_CONNECT, TCP_WINDOW_CLAMP};

    let (option, on) = match end {
        End::Dials => (TCP_FASTOPEN_CONNECT, 1),
        End::Listens => (TCP_FASTOPEN, i32::MAX),
    };
    match fast_open {
        FastOpen::Unset => {}
        FastOpen::Off => set(socket, IPPROTO_TCP, option, &0_i32)?,
        FastOpen::On(queue) => set(socket, IPPROTO_TCP, option, &i32::try_from(queue).unwrap_or(on).min(on))?,
    }
    if let Some(size) = window_clamp {
        set(socket, IPPROTO_TCP, TCP_WINDOW_CLAMP, &size)?;
    }
    Ok(())
}

/// Sets the options by number that are for such a socket.
///
/// # Errors
/// Whatever the kernel says.
#[cfg(target_os = "linux")]
pub(super) fn raw(socket: &Socket, domain: Domain, kind: Type, options: &[RawOption]) -> io::Result<()> {
    for option in options.iter().filter(|option| option.fits(domain, kind)) {
        let done = match &option.value {
            RawValue::Number(number) => set(socket, option.level, option.name, number),
            RawValue::Text(text) => set(socket, option.level, option.name, text.as_bytes()),
        };
        done.map_err(|error| refused(option, &error))?;
    }
    Ok(())
}

/// An error that says which option it is about; of its kind, so that blame stays where it belongs.
#[cfg(target_os = "linux")]
fn refused(option: &RawOption, error: &io::Error) -> io::Error {
    let RawOption { level, name, .. } = option;
    io::Error::new(error.kind(), format!("customSockopt of level {level} and opt {name}: {error}"))
}

#[cfg(target_os = "linux")]
fn set<T: ?Sized>(socket: &Socket, level: i32, option: i32, value: &T) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    uapi::setsockopt(socket.as_raw_fd(), level, option, value).map_err(io::Error::from)
}

/// Sets what a TCP socket has no call by name for.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] if there is anything to set.
#[cfg(not(target_os = "linux"))]
pub(super) fn stream(_: &Socket, _: End, fast_open: FastOpen, window_clamp: Option<i32>) -> io::Result<()> {
    let plain = matches!(fast_open, FastOpen::Unset | FastOpen::Off) && window_clamp.is_none();
    if plain { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
}

/// Sets the options by number that are for such a socket.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] if there are any.
#[cfg(not(target_os = "linux"))]
pub(super) fn raw(_: &Socket, domain: Domain, kind: Type, options: &[RawOption]) -> io::Result<()> {
    let none = !options.iter().any(|option| option.fits(domain, kind));
    if none { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::fd::AsRawFd;

    use uapi::c::{
        IPPROTO_TCP, SO_SNDBUF, SOL_SOCKET, TCP_CONGESTION, TCP_FASTOPEN, TCP_FASTOPEN_CONNECT, TCP_WINDOW_CLAMP,
    };

    use super::*;

    fn socket(kind: Type) -> Socket {
        Socket::new(Domain::IPV4, kind, None).unwrap()
    }

    fn number(socket: &Socket, level: i32, option: i32) -> i32 {
        let mut value = 0;
        uapi::getsockopt(socket.as_raw_fd(), level, option, &mut value).unwrap();
        value
    }

    #[test]
    fn fast_open_is_a_queue_for_who_listens_and_a_switch_for_who_dials() {
        for (end, option, on) in [(End::Dials, TCP_FASTOPEN_CONNECT, 1), (End::Listens, TCP_FASTOPEN, 32)] {
            let of = |fast_open| {
                let socket = socket(Type::STREAM);
                stream(&socket, end, fast_open, None).unwrap();
                number(&socket, IPPROTO_TCP, option)
            };
            assert_eq!((of(FastOpen::On(32)), of(FastOpen::Off), of(FastOpen::Unset)), (on, 0, 0));
        }
    }

    #[test]
    fn the_window_is_bounded() {
        let socket = socket(Type::STREAM);
        stream(&socket, End::Dials, FastOpen::Unset, Some(65_536)).unwrap();
        assert_eq!(number(&socket, IPPROTO_TCP, TCP_WINDOW_CLAMP), 65_536);
    }

    fn option(network: &str, level: i32, name: i32, value: RawValue) -> RawOption {
        RawOption { network: network.to_owned(), level, name, value }
    }

    #[test]
    fn options_by_number_reach_the_sockets_they_are_for() {
        let usual = number(&socket(Type::STREAM), SOL_SOCKET, SO_SNDBUF);
        for (network, set) in [("", true), ("tcp", true), ("tcp4", true), ("tcp6", false), ("udp", false)] {
            let socket = socket(Type::STREAM);
            let buffer = option(network, SOL_SOCKET, SO_SNDBUF, RawValue::Number(50_000));
            raw(&socket, Domain::IPV4, Type::STREAM, &[buffer]).unwrap();
            // The kernel doubles what it is told.
            let want = if set { 100_000 } else { usual };
            assert_eq!(number(&socket, SOL_SOCKET, SO_SNDBUF), want, "{network:?}");
        }
        let socket = socket(Type::STREAM);
        let reno = option("", IPPROTO_TCP, TCP_CONGESTION, RawValue::Text("reno".to_owned()));
        raw(&socket, Domain::IPV4, Type::STREAM, &[reno]).unwrap();
        assert_eq!(socket.tcp_congestion().unwrap()[..5], *b"reno\0");
    }

    #[test]
    fn a_refused_option_is_named() {
        let odd = option("udp", SOL_SOCKET, 9999, RawValue::Number(1));
        let error = raw(&socket(Type::DGRAM), Domain::IPV4, Type::DGRAM, &[odd]).unwrap_err();
        assert!(error.to_string().starts_with("customSockopt of level 1 and opt 9999: "), "{error}");
    }
}
