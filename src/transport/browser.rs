//! The headers by which requests of HTTP carriers look like a browser's.
//!
//! Versions grow with the date as Xray's do (`common/utils/browser.go`), with a lag that is the same for all runs on a
//! machine: a browser that changes its version with every start would stand out.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::SystemTime;

use http::{HeaderMap, HeaderName};
use jiff::civil::date;
use jiff::{Timestamp, ToSpan, tz::TimeZone};

/// What a request pretends to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A script that fetches something.
    Fetch,
    /// A script that opens a WebSocket.
    WebSocket,
}

/// Header fields in order, as they are spelled.
pub(super) type Fields = Vec<(String, String)>;

/// Adds the headers of the browser that `User-Agent` names by a word, of Chrome where none is given, and none where a whole
/// `User-Agent` is given. What is there already stays.
pub(super) fn dress(fields: &mut Fields, purpose: Purpose) {
    let agent = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(AGENT));
    let browser = match agent.map(|(_, value)| value.as_str()) {
        None | Some("chrome") => Browser::Chrome,
        Some("edge") => Browser::Edge,
        Some("firefox") => Browser::Firefox,
        Some("safari") => Browser::Safari,
        Some("curl") => Browser::Curl,
        Some("golang") => Browser::Go,
        Some(_) => return,
    };
    fields.retain(|(name, _)| !name.eq_ignore_ascii_case(AGENT));
    let now = Timestamp::try_from(SystemTime::now()).unwrap_or_default();
    for (name, value) in worn(browser, purpose, Wardrobe { now, lag: lag() }) {
        if !fields.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
            fields.push((name.to_owned(), value));
        }
    }
}

/// The `User-Agent` that goes with a word, or with nothing; whatever else is asked for stays as it is.
pub(super) fn agent(asked: &str) -> String {
    let mut fields = Fields::new();
    if !asked.is_empty() {
        fields.push((AGENT.to_owned(), asked.to_owned()));
    }
    dress(&mut fields, Purpose::WebSocket);
    fields.into_iter().find(|(name, _)| name == AGENT).map(|(_, value)| value).unwrap_or_default()
}

/// The headers of a script that fetches something in Chrome.
#[must_use]
pub fn fetch_headers() -> HeaderMap {
    let mut fields = Fields::new();
    dress(&mut fields, Purpose::Fetch);
    let header = |(name, value): (String, String)| Some((name.parse::<HeaderName>().ok()?, value.parse().ok()?));
    fields.into_iter().filter_map(header).collect()
}

const AGENT: &str = "User-Agent";
const DAY: i64 = 24 * 60 * 60;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Browser {
    Chrome,
    Edge,
    Firefox,
    Safari,
    Curl,
    Go,
}

/// What versions depend on: the date, and how late this machine updates (0 to 1, early).
#[derive(Clone, Copy)]
struct Wardrobe {
    now: Timestamp,
    lag: f64,
}

fn lag() -> f64 {
    let mut hasher = DefaultHasher::new();
    std::env::consts::ARCH.hash(&mut hasher);
    std::thread::available_parallelism().map_or(1, usize::from).hash(&mut hasher);
    let drawn = u32::try_from(hasher.finish() >> 32).unwrap_or_default();
    f64::from(drawn) / (f64::from(u32::MAX) + 1.0)
}

impl Wardrobe {
    /// Whole releases since a day (of the Unix epoch), one every so many days, for whom the newest comes later by up to
    /// `late` days.
    fn releases(self, since: i64, every: i64, early: i64, late: f64) -> i64 {
        let days = self.now.as_second() / DAY - since - early - self.days_late(late, 2);
        (days / every).max(0)
    }

    #[allow(clippy::cast_possible_truncation, reason = "a small number of days")]
    fn days_late(self, most: f64, power: i32) -> i64 {
        (self.lag.powi(power) * most).floor() as i64
    }

    /// 144 came on 2026-01-13.
    fn chrome(self) -> i64 {
        144 + self.releases(20_466, 35, 35, 105.0)
    }

    /// 128 came on 2024-07-29 at the latest.
    fn firefox(self) -> i64 {
        128 + self.releases(19_933, 30, 25, 50.0)
    }

    /// 8.0.0 came on 2023-03-20.
    fn curl(self) -> i64 {
        self.releases(19_436, 57, 60, 165.0)
    }

    /// A new one each year about September 23, with six smaller ones over the year.
    fn safari(self) -> String {
        const MINOR: [u8; 25] = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 5, 5, 6, 6, 6, 6];
        let today = TimeZone::UTC.to_datetime(self.now).date();
        let split = |year| date(year, 9, 23).saturating_add(self.days_late(75.0, 3).days());
        let year = if today < split(today.year()) { today.year() - 1 } else { today.year() };
        let age = today.duration_since(split(year)).as_secs() / (15 * DAY);
        let minor = MINOR[usize::try_from(age).unwrap_or_default().min(MINOR.len() - 1)];
        format!("{}.{minor}", year - 1999)
    }
}

fn worn(browser: Browser, purpose: Purpose, from: Wardrobe) -> Vec<(&'static str, String)> {
    let chrome = from.chrome();
    let chromium = format!(
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{chrome}.0.0.0 Safari/537.36"
    );
    let agent = match browser {
        Browser::Chrome => chromium,
        Browser::Edge => format!("{chromium} Edg/{chrome}.0.0.0"),
        Browser::Firefox => {
            let version = from.firefox();
            format!("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:{version}.0) Gecko/20100101 Firefox/{version}.0")
        }
        Browser::Safari => format!(
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{} Safari/605.1.15",
            from.safari()
        ),
        Browser::Curl => return vec![(AGENT, format!("curl/8.{}.0", from.curl()))],
        Browser::Go => return vec![(AGENT, "Go-http-client/1.1".to_owned())],
    };
    let mut all = vec![(AGENT, agent)];
    let mut wear = |name, value: &str| all.push((name, value.to_owned()));
    if matches!(browser, Browser::Chrome | Browser::Edge) {
        let fork = if browser == Browser::Chrome { "Google Chrome" } else { "Microsoft Edge" };
        wear("Sec-CH-UA", &brands(chrome, fork));
        wear("Sec-CH-UA-Mobile", "?0");
        wear("Sec-CH-UA-Platform", "\"Windows\"");
    }
    if browser != Browser::Safari {
        wear("DNT", "1");
    }
    wear("Accept-Language", if browser == Browser::Firefox { "en-US,en;q=0.5" } else { "en-US,en;q=0.9" });
    match purpose {
        Purpose::Fetch => {
            wear("Sec-Fetch-Mode", "cors");
            wear("Sec-Fetch-Dest", "empty");
            let priority = match browser {
                Browser::Firefox => "u=4",
                Browser::Safari => "u=3, i",
                _ => "u=1, i",
            };
            wear("Priority", priority);
        }
        Purpose::WebSocket => {
            wear("Sec-Fetch-Mode", "websocket");
            wear("Sec-Fetch-Dest", if browser == Browser::Safari { "websocket" } else { "empty" });
        }
    }
    wear("Sec-Fetch-Site", "same-origin");
    wear("Cache-Control", "no-cache");
    wear("Pragma", "no-cache");
    wear("Accept", "*/*");
    all
}

/// `Sec-CH-UA` as Chromium writes it: a senseless brand among the real ones, its spelling and place by the version.
fn brands(version: i64, fork: &str) -> String {
    const SIGNS: [&str; 11] = [" ", "(", ":", "-", ".", "/", ")", ";", "=", "?", "_"];
    const VERSIONS: [&str; 3] = ["8", "99", "24"];
    const PLACES: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let seed = usize::try_from(version).unwrap_or_default();
    let (first, second) = (SIGNS[seed % SIGNS.len()], SIGNS[(seed + 1) % SIGNS.len()]);
    let senseless = format!("\"Not{first}A{second}Brand\";v=\"{}\"", VERSIONS[seed % VERSIONS.len()]);
    let mut list = [const { String::new() }; 3];
    let real = |brand: &str| format!("\"{brand}\";v=\"{version}\"");
    for (place, brand) in PLACES[seed % PLACES.len()].into_iter().zip([senseless, real("Chromium"), real(fork)]) {
        list[place] = brand;
    }
    list.join(", ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn on(day: &str, lag: f64) -> Wardrobe {
        Wardrobe { now: format!("{day}T12:00:00Z").parse().unwrap(), lag }
    }

    #[test]
    fn versions_grow_with_the_date() {
        assert_eq!((on("2026-01-13", 0.0).chrome(), on("2026-03-24", 0.0).chrome()), (144, 145));
        assert_eq!((on("2026-11-30", 0.0).chrome(), on("2026-11-30", 0.999).chrome()), (152, 149));
        assert_eq!(on("2026-11-30", 0.0).firefox(), 155);
        assert_eq!(on("2026-11-30", 0.0).curl(), 22);
        assert_eq!((on("2026-09-22", 0.0).safari(), on("2026-09-23", 0.0).safari()), ("26.6".into(), "27.0".into()));
    }

    #[test]
    fn brands_are_written_as_chromium_does() {
        assert_eq!(
            brands(144, "Google Chrome"),
            "\"Not(A:Brand\";v=\"8\", \"Chromium\";v=\"144\", \"Google Chrome\";v=\"144\""
        );
    }

    #[test]
    fn a_word_chooses_and_a_whole_agent_is_left_alone() {
        let dressed = |agent: Option<&str>| {
            let mut fields: Fields = vec![("accept".to_owned(), "x/y".to_owned())];
            fields.extend(agent.map(|agent| ("user-agent".to_owned(), agent.to_owned())));
            dress(&mut fields, Purpose::WebSocket);
            fields
        };
        let value = |fields: &Fields, name: &str| {
            fields.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.clone()).collect::<Vec<_>>()
        };
        let chrome = dressed(None);
        assert!(value(&chrome, "user-agent")[0].contains(" Chrome/"));
        assert_eq!((value(&chrome, "accept"), value(&chrome, "dnt")), (vec!["x/y".to_owned()], vec!["1".to_owned()]));
        assert!(value(&dressed(Some("firefox")), "user-agent")[0].contains("Firefox"));
        assert_eq!(dressed(Some("Mine/1")).len(), 2);
        assert_eq!(dressed(Some("curl")).len(), 2);
        assert_eq!((agent(""), agent("Mine/1").as_str()), (agent("chrome"), "Mine/1"));
    }
}
