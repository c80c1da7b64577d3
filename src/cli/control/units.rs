//! Numbers as people read them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A delay: `0.85 ms`, `12.3 ms`, `340 ms`, `1.20 s`.
pub fn delay(ms: f64) -> String {
    if ms >= 1000.0 { format!("{} s", short(ms / 1000.0)) } else { format!("{} ms", short(ms)) }
}

/// Bytes per second: `940 B/s`, `12.3 kB/s`, `1.20 MB/s`.
pub fn rate(bytes: f64) -> String {
    let (value, unit) = match bytes {
        b if b >= 1e9 => (b / 1e9, "GB/s"),
        b if b >= 1e6 => (b / 1e6, "MB/s"),
        b if b >= 1e3 => (b / 1e3, "kB/s"),
        b => (b, "B/s"),
    };
    format!("{} {unit}", short(value))
}

/// A span of time, to the second: `850 ms`, `12 s`, `3 m 20 s`, `2 h 5 m`.
pub fn span(ms: u64) -> String {
    let (secs, mins, hours) = (ms / 1000, ms / 60_000, ms / 3_600_000);
    match (hours, mins, secs) {
        (0, 0, 0) => format!("{ms} ms"),
        (0, 0, secs) => format!("{secs} s"),
        (0, mins, secs) => format!("{mins} m {} s", secs % 60),
        (..24, mins, _) => format!("{hours} h {} m", mins % 60),
        _ => format!("{} d {} h", hours / 24, hours % 24),
    }
}

/// Three digits that count, or all before the point.
pub fn short(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "?".to_owned(),
        v if v >= 100.0 || v == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A moment in local time.
pub fn moment(wall_ms: u64) -> String {
    let time = i64::try_from(wall_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| "?".to_owned(), |time| time.to_zoned_datetime(TimeZone::system()).strftime("%F %T").to_string())
}

/// A text of elsewhere, without what would move the cursor or colour the rest.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_have_units() {
        assert_eq!([0.0, 0.852, 12.34, 340.4, 1204.0].map(delay), ["0 ms", "0.85 ms", "12.3 ms", "340 ms", "1.20 s"]);
        assert_eq!([940.0, 12_340.0, 1.2e6, 3e9].map(rate), ["940 B/s", "12.3 kB/s", "1.20 MB/s", "3.00 GB/s"]);
        let spans = [850, 12_999, 200_000, 7_500_000, 90_000_000].map(span);
        assert_eq!(spans, ["850 ms", "12 s", "3 m 20 s", "2 h 5 m", "1 d 1 h"]);
        assert_eq!(short(f64::NAN), "?");
        assert_eq!(plain("a\x1b[31mb\nc"), "a?[31mb?c");
        assert_eq!(moment(u64::MAX), "?");
    }
}
