//! How much one end says and takes.

/// How much one end says and takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of a packet, before anything disguises it.
    pub packet: usize,
    /// Milliseconds of a beat.
    pub beat: u32,
    /// Packets with data that may leave in one beat.
    pub flight: u32,
    /// Factor of that.
    pub multiplier: u32,
    /// Segments that may wait for being acknowledged.
    pub buffer: u32,
    /// Segments that are taken beyond those that were read.
    pub window: u32,
}

/// The least that a capacity comes to.
const LEAST: u64 = 8;

/// The most, whatever a configuration says: far less than half of all numbers.
const MOST: u64 = 1 << 20;

impl Settings {
    /// What a configuration says: bytes of a packet on the wire, of which `overhead` are a disguise; milliseconds of a beat;
    /// megabytes a second that are sent and taken; and bytes that may wait for being acknowledged.
    #[must_use]
    pub fn of(mtu: u32, overhead: usize, beat: u32, up: u32, down: u32, multiplier: u32, waiting: u32) -> Self {
        let (mtu, beat) = (mtu.max(1), beat.max(1));
        let count = |number: u64| u32::try_from(number.min(MOST)).unwrap_or(u32::MAX);
        let beats = u64::from(1000 / beat).max(1);
        let capacity = |megabytes: u32| {
            let bytes = u64::from(megabytes) * 1024 * 1024;
            count((bytes / u64::from(mtu) / beats).max(LEAST))
        };
        Self {
            packet: usize::try_from(mtu).unwrap_or(usize::MAX).saturating_sub(overhead),
            beat,
            flight: capacity(up),
            multiplier: multiplier.max(1),
            buffer: count((waiting / mtu).max(1).into()),
            window: capacity(down),
        }
    }

    /// Bytes of data in a segment.
    #[must_use]
    pub fn segment(&self) -> usize {
        self.packet.saturating_sub(super::segment::DATA).clamp(1, usize::from(u16::MAX) - 64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_v2ray_makes_of_its_defaults() {
        let settings = Settings::of(1350, 28 + 13, 50, 5, 20, 1, 2 * 1024 * 1024);
        assert_eq!((settings.flight, settings.window, settings.buffer), (194, 776, 1553));
        assert_eq!((settings.packet, settings.segment()), (1309, 1291));
    }

    #[test]
    fn what_nobody_should_write_does_no_harm() {
        let least = Settings::of(21, 41, 1000, 0, 0, 0, 0);
        assert_eq!((least.segment(), least.flight, least.window, least.buffer), (1, 8, 8, 1));
        let most = Settings::of(u32::MAX, 0, 10, u32::MAX, u32::MAX, 1, u32::MAX);
        assert!(most.segment() < 65536 && most.flight >= 8);
    }
}
