//! Times of day and week, as cron says them. Forms and meaning are those of the Go library `robfig/cron` v3, which Xray uses.

use std::time::Duration;

use jiff::civil::DateTime;
use jiff::{ToSpan, ZonedDateTime};
use serde_json::{Value as Json, json};

use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, Reader, parse_time};

/// When something is to be done again and again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schedule {
    text: String,
    when: When,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum When {
    #[default]
    Never,
    Every(Duration),
    Fields(Box<Fields>),
}

/// A bit for each value that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fields {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether both days must fit because one of them is free; else either will do.
    both: bool,
    zone: Option<String>,
}

const HELP: &str = "write five fields (minute, hour, day, month, weekday) such as \"0 4 * * *\", or @daily, @every 12h";

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Schedule {
    /// Reads five fields, or a word with `@`; an empty text is never.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(Self { text: text.to_owned(), when: when(text.trim())? })
    }

    /// Whether it is never.
    #[must_use]
    pub fn is_never(&self) -> bool {
        self.when == When::Never
    }

    /// The time zone that it names; without one its times are those of the machine.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        match &self.when {
            When::Fields(fields) => fields.zone.as_deref(),
            When::Never | When::Every(_) => None,
        }
    }

    /// The first moment after another, in that one's time zone. A time that a clock leaves out in spring is moved by what
    /// is left out. Nothing for what never is, as the 30th of February.
    #[must_use]
    pub fn next(&self, after: &ZonedDateTime) -> Option<ZonedDateTime> {
        match &self.when {
            When::Never => None,
            When::Every(pause) => after.checked_add(*pause).ok(),
            When::Fields(fields) => {
                let mut from = after.datetime();
                loop {
                    let found = fields.next(from)?;
                    let zoned = found.to_zoned_datetime(after.time_zone().clone()).ok()?;
                    // An hour that a clock has twice counts once.
                    if zoned > *after {
                        return Some(zoned);
                    }
                    from = found;
                }
            }
        }
    }
}

fn when(text: &str) -> Result<When, String> {
    let (zone, text) = match text.strip_prefix("CRON_TZ=").or_else(|| text.strip_prefix("TZ=")) {
        Some(rest) => rest
            .split_once(char::is_whitespace)
            .map(|(zone, rest)| (Some(zone.to_owned()), rest.trim()))
            .ok_or("a time zone stands before a schedule")?,
        None => (None, text),
    };
    if text.is_empty() {
        return Ok(When::Never);
    }
    let text = match text {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        text => match text.strip_prefix("@every ") {
            Some(pause) => {
                let pause = parse_time(pause.trim()).ok_or_else(|| format!("`{pause}` is no duration"))?;
                return Ok(When::Every(Duration::from_secs(pause.as_secs().max(1))));
            }
            None if text.starts_with('@') => return Err(format!("`{text}` is no schedule")),
            None => text,
        },
    };
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields[..] else {
        return Err(format!("a schedule has five fields, not {}", fields.len()));
    };
    let (minutes, _) = field(minute, 0, 59, &[])?;
    let (hours, _) = field(hour, 0, 23, &[])?;
    let (days, any_day) = field(day, 1, 31, &[])?;
    let (months, _) = field(month, 1, 12, &MONTHS)?;
    let (weekdays, any_weekday) = field(weekday, 0, 6, &WEEKDAYS)?;
    let both = any_day || any_weekday;
    Ok(When::Fields(Box::new(Fields { minutes, hours, days, months, weekdays, both, zone })))
}

/// The bits of a field, and whether it is free.
fn field(text: &str, least: u32, most: u32, names: &[&str]) -> Result<(u64, bool), String> {
    let (mut bits, mut free) = (0, false);
    for part in text.split(',') {
        let wrong = || format!("`{part}` is nothing that a field of {least} to {most} can say");
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step.parse::<u32>().ok().filter(|step| *step > 0).ok_or_else(wrong)?)),
            None => (part, None),
        };
        let value = |text: &str| match names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
            Some(at) => u32::try_from(at).ok().map(|at| at + least),
            None => text.parse::<u32>().ok(),
        };
        let (from, to) = match range.split_once('-') {
            _ if matches!(range, "*" | "?") => {
                free |= step.unwrap_or(1) == 1;
                (least, most)
            }
            Some((from, to)) => (value(from).ok_or_else(wrong)?, value(to).ok_or_else(wrong)?),
            None => {
                let one = value(range).ok_or_else(wrong)?;
                (one, if step.is_some() { most } else { one })
            }
        };
        if from < least || to > most || from > to {
            return Err(wrong());
        }
        let step = usize::try_from(step.unwrap_or(1)).map_err(|_| wrong())?;
        (from..=to).step_by(step).for_each(|value| bits |= 1 << value);
    }
    Ok((bits, free))
}

/// How far is looked for a day that fits: a leap day may be eight years away.
const YEARS: i16 = 9;

impl Fields {
    fn next(&self, after: DateTime) -> Option<DateTime> {
        let fits = |bits: u64, value: i8| u32::try_from(value).is_ok_and(|value| bits >> value & 1 == 1);
        let last = after.year().checked_add(YEARS)?;
        let mut at = after.with().second(0).subsec_nanosecond(0).build().ok()?.checked_add(1.minute()).ok()?;
        while at.year() <= last {
            let midnight = at.date().to_datetime(jiff::civil::Time::midnight());
            let day = fits(self.days, at.day());
            let weekday = fits(self.weekdays, at.weekday().to_sunday_zero_offset());
            let today = if self.both { day && weekday } else { day || weekday };
            at = if !fits(self.months, at.month()) {
                midnight.date().first_of_month().checked_add(1.month()).ok()?.to_datetime(jiff::civil::Time::midnight())
            } else if !today {
                midnight.checked_add(1.day()).ok()?
            } else if !fits(self.hours, at.hour()) {
                at.with().minute(0).build().ok()?.checked_add(1.hour()).ok()?
            } else if !fits(self.minutes, at.minute()) {
                at.checked_add(1.minute()).ok()?
            } else {
                return Some(at);
            };
        }
        None
    }
}

impl Field for Schedule {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let Some(text) = node.text() else { return cx.wrong_type(node, "a string") };
        match Self::parse(text) {
            Ok(schedule) => Some(schedule),
            Err(why) => {
                cx.error(node, Kind::Value, format!("invalid cron {text:?}: {why}")).help = Some(HELP.into());
                None
            }
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(self.text.clone())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string" })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The next few moments, as the clock on the wall shows them.
    fn moments(text: &str, after: &str, count: usize) -> Vec<String> {
        let schedule = Schedule::parse(text).unwrap();
        let mut at: ZonedDateTime = after.parse().unwrap();
        let mut told = vec![];
        for _ in 0..count {
            let Some(next) = schedule.next(&at) else { break };
            told.push(next.strftime("%F %R").to_string());
            at = next;
        }
        told
    }

    #[test]
    fn moments_follow_each_other() {
        let utc = "2026-11-30T04:10:17[UTC]";
        let table: [(&str, &[&str]); 12] = [
            ("0 4 * * *", &["2026-12-01 04:00", "2026-12-02 04:00"]),
            ("*/20 4 * * *", &["2026-11-30 04:20", "2026-11-30 04:40", "2026-12-01 04:00"]),
            ("10 4 30 11 *", &["2027-11-30 04:10"]),
            ("50/5 23 31 12 ?", &["2026-12-31 23:50", "2026-12-31 23:55", "2027-12-31 23:50"]),
            ("0 0 29 feb *", &["2028-02-29 00:00", "2032-02-29 00:00"]),
            ("0 12 * * MON-tue", &["2026-11-30 12:00", "2026-12-01 12:00", "2026-12-07 12:00"]),
            // Either day will do where both are said.
            ("0 0 13 * 5", &["2026-12-04 00:00", "2026-12-11 00:00", "2026-12-13 00:00"]),
            // A step leaves a field no longer free.
            ("0 0 */30 * 5", &["2026-12-01 00:00", "2026-12-04 00:00"]),
            ("@monthly", &["2026-12-01 00:00", "2027-01-01 00:00"]),
            ("@weekly", &["2026-12-06 00:00"]),
            ("@every 1h30m", &["2026-11-30 05:40", "2026-11-30 07:10"]),
            ("0 0 30 2 *", &[]),
        ];
        for (text, want) in table {
            assert_eq!(moments(text, utc, want.len().max(1)), want, "{text}");
        }
        assert!(Schedule::parse("").unwrap().is_never());
        assert_eq!(Schedule::parse("CRON_TZ=Asia/Tokyo 0 4 * * *").unwrap().zone(), Some("Asia/Tokyo"));
    }

    #[test]
    fn clocks_that_jump_neither_lose_a_moment_nor_double_it() {
        let spring = moments("30 2 * * *", "2026-03-28T12:00:00+01:00[Europe/Berlin]", 2);
        assert_eq!(spring, ["2026-03-29 03:30", "2026-03-30 02:30"]);
        let autumn = moments("30 2 * * *", "2026-10-24T12:00:00+02:00[Europe/Berlin]", 2);
        assert_eq!(autumn, ["2026-10-25 02:30", "2026-10-26 02:30"]);
    }

    #[test]
    fn what_is_none_is_said_in_words() {
        for bad in
            ["0 4 * *", "@often", "@every soon", "0 4 * * $", "60 * * * *", "* * 0 * *", "* * * * 7", "5-1 * * * *"]
        {
            assert!(Schedule::parse(bad).is_err(), "{bad}");
        }
        for bad in ["*/0 * * * *", "* * * 13 *", "1,,2 * * * *", "CRON_TZ=UTC"] {
            assert!(Schedule::parse(bad).is_err(), "{bad}");
        }
    }
}
