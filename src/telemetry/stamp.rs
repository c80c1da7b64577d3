//! The time at the head of a line: local, to the microsecond, as Go's log package writes it.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Writes times; what changes once a second is worked out once a second.
#[derive(Debug)]
pub(super) struct Stamper {
    zone: TimeZone,
    second: u64,
    text: Vec<u8>,
}

impl Stamper {
    /// For the zone of this machine, or UTC where it does not say one (an empty environment in a bare container).
    pub(super) fn local() -> Self {
        Self::new(zone_file().or_else(|| TimeZone::try_system().ok()).unwrap_or(TimeZone::UTC))
    }

    fn new(zone: TimeZone) -> Self {
        Self { zone, second: u64::MAX, text: Vec::new() }
    }

    /// Appends `2006/01/02 15:04:05.000000 `.
    pub(super) fn write(&mut self, at: SystemTime, out: &mut Vec<u8>) {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        if since.as_secs() != self.second {
            self.second = since.as_secs();
            self.text.clear();
            let second = i64::try_from(self.second).unwrap_or(i64::MAX);
            let time = self.zone.to_datetime(Timestamp::from_second(second).unwrap_or(Timestamp::MAX));
            let (year, month, day) = (time.year(), time.month(), time.day());
            let (hour, minute, second) = (time.hour(), time.minute(), time.second());
            // Writing to memory does not fail.
            let _ = write!(self.text, "{year:04}/{month:02}/{day:02} {hour:02}:{minute:02}:{second:02}.");
        }
        out.extend_from_slice(&self.text);
        let _ = write!(out, "{:06} ", since.subsec_micros());
    }
}

/// The machine's zone from its one file. Asking the library reads every folder of the zone database first, which at start
/// costs more than reading a configuration; only a zone that is named in the environment needs that.
fn zone_file() -> Option<TimeZone> {
    if std::env::var_os("TZ").is_some() {
        return None;
    }
    TimeZone::tzif("Local", &std::fs::read("/etc/localtime").ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn stamp(stamper: &mut Stamper, micros: u64) -> String {
        let mut out = Vec::new();
        stamper.write(UNIX_EPOCH + Duration::from_micros(micros), &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn six_decimals_and_the_second_is_renewed() {
        let mut stamper = Stamper::new(TimeZone::UTC);
        assert_eq!(stamp(&mut stamper, 1_796_050_445_000_007), "2026/11/30 14:54:05.000007 ");
        assert_eq!(stamp(&mut stamper, 1_796_050_445_999_999), "2026/11/30 14:54:05.999999 ");
        assert_eq!(stamp(&mut stamper, 1_796_050_446_000_000), "2026/11/30 14:54:06.000000 ");
    }

    #[test]
    fn the_zone_counts() {
        let mut stamper = Stamper::new(TimeZone::fixed(jiff::tz::offset(8)));
        assert_eq!(stamp(&mut stamper, 1_796_050_445_000_000), "2026/11/30 22:54:05.000000 ");
    }
}
