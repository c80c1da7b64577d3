//! What goes over the socket: lines of JSON, each with the version of their form.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::addr::Tag;
use crate::balance::{Order, Report};

/// Version of the form. One that knows more keys is no other version; one that means something else by a key is.
pub const VERSION: u32 = 1;

/// Longest line of a request.
pub(super) const LONGEST_REQUEST: usize = 64 << 10;

/// Longest line of an answer: thousands of members with all their terms.
pub(super) const LONGEST_ANSWER: usize = 64 << 20;

/// A request: `{"v":1,"ask":{"report":{}}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Version of the form.
    pub v: u32,
    /// What is asked for.
    pub ask: Ask,
}

/// What can be asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    /// What is known now, of one balancer or of all. One line comes back.
    Report {
        /// Which.
        #[serde(default)]
        balancer: Option<String>,
    },
    /// The same again and again, until the connection is closed.
    Watch {
        /// Which.
        #[serde(default)]
        balancer: Option<String>,
        /// How often; at least 200 ms, absent: every second.
        #[serde(default)]
        every_ms: Option<u64>,
    },
    /// Follow an order. One line comes back, after `test` one for each result as well.
    Order {
        /// Which balancer.
        balancer: String,
        /// What it is to do.
        order: OrderAsk,
    },
}

/// An order as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum OrderAsk {
    /// New flows go to this member.
    Pin {
        /// Who.
        member: String,
        /// For how long; absent: until told otherwise.
        #[serde(default)]
        for_ms: Option<u64>,
        /// Even when it is dead.
        #[serde(default)]
        strict: bool,
    },
    /// The strategy decides again.
    Unpin {},
    /// The member takes no new flow.
    Fence {
        /// Who.
        member: String,
    },
    /// It takes flows again.
    Unfence {
        /// Who.
        member: String,
    },
    /// Measure now.
    Test {
        /// Whom; absent: all.
        #[serde(default)]
        member: Option<String>,
    },
}

impl From<&OrderAsk> for Order {
    fn from(ask: &OrderAsk) -> Self {
        let tag = |text: &String| Tag::from(text.as_str());
        match ask {
            OrderAsk::Pin { member, for_ms, strict } => {
                Self::Pin { member: tag(member), lasts: for_ms.map(Duration::from_millis), strict: *strict }
            }
            OrderAsk::Unpin {} => Self::Unpin,
            OrderAsk::Fence { member } => Self::Fence(tag(member)),
            OrderAsk::Unfence { member } => Self::Unfence(tag(member)),
            OrderAsk::Test { member } => Self::Test(member.as_ref().map(tag)),
        }
    }
}

/// A line of an answer: `{"v":1,"reports":{…}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Version of the form.
    pub v: u32,
    /// What is said.
    #[serde(flatten)]
    pub say: Say,
}

/// What an answer says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Say {
    /// What is known.
    Reports(Reports),
    /// A test that was ordered ended; more lines follow.
    Tested(Tested),
    /// The order was followed.
    Done {
        /// What whoever gave it should know.
        notes: Vec<String>,
        /// The balancer afterwards.
        report: Box<Report>,
    },
    /// It was not.
    Error(Refused),
}

/// What an engine knows of its balancers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reports {
    /// Which engine.
    pub engine: EngineReport,
    /// The balancers in their order.
    pub balancers: Vec<Report>,
}

/// A running engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineReport {
    /// Number of its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// When it started, in milliseconds since 1970.
    pub started_ms: u64,
}

/// A measurement that ended while a test was waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// Whose.
    pub member: String,
    /// Whether it ended well.
    pub ok: bool,
    /// The whole line, as the log has it.
    pub text: String,
}

/// Why a request was not answered as wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// For programs.
    pub code: Code,
    /// For people.
    pub message: String,
}

/// Reasons that programs may tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The line is no request.
    BadRequest,
    /// The request is of a version that is not known here.
    Version,
    /// There is no such balancer.
    UnknownBalancer,
    /// The balancer has no such member.
    UnknownMember,
    /// Nothing probes the balancer.
    NothingToTest,
    /// A test did not end in time.
    Timeout,
    /// Too many are connected.
    Busy,
    /// The engine ends, or changes its configuration.
    Stopping,
}

impl Refused {
    /// With this reason.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl Request {
    /// A request of this version.
    #[must_use]
    pub fn new(ask: Ask) -> Self {
        Self { v: VERSION, ask }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// [`Refused`] says what is wrong with it.
    pub fn read(line: &[u8]) -> Result<Self, Refused> {
        /// Read first, since another version may have other requests.
        #[derive(Deserialize)]
        struct Version {
            v: u32,
        }
        let bad = |error: serde_json::Error| Refused::new(Code::BadRequest, format!("this is no request: {error}"));
        let Version { v } = serde_json::from_slice(line).map_err(bad)?;
        if v != VERSION {
            let message = format!("version {v} of the protocol is not known here, version {VERSION} is");
            return Err(Refused::new(Code::Version, message));
        }
        serde_json::from_slice(line).map_err(bad)
    }
}

impl From<Say> for Answer {
    fn from(say: Say) -> Self {
        Self { v: VERSION, say }
    }
}

/// A value as a line.
pub(super) fn line(value: &impl Serialize) -> Vec<u8> {
    // Keys are texts, and numbers that are none become null: nothing here can fail to become JSON.
    let mut text = serde_json::to_vec(value).unwrap_or_default();
    text.push(b'\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_those_of_the_documentation() {
        let read = |text: &str| Request::read(text.as_bytes()).map(|request| request.ask);
        let all = Ok(Ask::Report { balancer: None });
        assert_eq!(read(r#"{"v":1,"ask":{"report":{}}}"#), all);
        assert_eq!(
            read(r#"{"v":1,"ask":{"watch":{"balancer":"b","every_ms":500}}}"#),
            Ok(Ask::Watch { balancer: Some("b".into()), every_ms: Some(500) })
        );
        let order = |order| Ok(Ask::Order { balancer: "b".into(), order });
        assert_eq!(
            read(r#"{"v":1,"ask":{"order":{"balancer":"b","order":{"pin":{"member":"m","for_ms":5}}}}}"#),
            order(OrderAsk::Pin { member: "m".into(), for_ms: Some(5), strict: false })
        );
        assert_eq!(read(r#"{"v":1,"ask":{"order":{"balancer":"b","order":{"unpin":{}}}}}"#), order(OrderAsk::Unpin {}));
        let test = order(OrderAsk::Test { member: None });
        assert_eq!(read(r#"{"v":1,"ask":{"order":{"balancer":"b","order":{"test":{}}}}}"#), test);
    }

    #[test]
    fn what_is_no_request_is_told_what_is_wrong() {
        let code = |text: &[u8]| Request::read(text).map_err(|refused| refused.code);
        for bad in [
            &b""[..],
            b"\xff\xfe",
            b"null",
            b"[]",
            b"{\"v\":1}",
            b"{\"v\":-1,\"ask\":{\"report\":{}}}",
            b"{\"v\":1,\"ask\":{\"stop\":{}}}",
            b"{\"v\":1,\"ask\":{\"report\":{\"balancr\":\"b\"}}}",
            b"{\"v\":1,\"ask\":{\"order\":{\"balancer\":\"b\",\"order\":{\"pin\":{\"for_ms\":-1,\"member\":\"m\"}}}}}",
        ] {
            assert_eq!(code(bad), Err(Code::BadRequest), "{}", String::from_utf8_lossy(bad));
        }
        let deep = [b"{\"v\":1,\"ask\":".as_slice(), &b"[".repeat(60_000)].concat();
        assert_eq!(code(&deep), Err(Code::BadRequest), "deep nesting is no way to break it");
        assert_eq!(code(b"{\"v\":2,\"ask\":{\"dance\":{}}}"), Err(Code::Version));
    }

    #[test]
    fn orders_mean_what_they_say() {
        let pin = OrderAsk::Pin { member: "m".into(), for_ms: Some(1500), strict: true };
        let lasts = Some(Duration::from_millis(1500));
        assert_eq!(Order::from(&pin), Order::Pin { member: "m".into(), lasts, strict: true });
        assert_eq!(Order::from(&OrderAsk::Test { member: None }), Order::Test(None));
        assert_eq!(Order::from(&OrderAsk::Unfence { member: "m".into() }), Order::Unfence("m".into()));
    }

    #[test]
    fn answers_come_back() {
        let done = Say::Done { notes: vec!["n".into()], report: Box::new(Report::default()) };
        let says = [
            Say::Reports(Reports::default()),
            Say::Tested(Tested { member: "m".into(), ok: true, text: "t".into() }),
            done,
            Say::Error(Refused::new(Code::UnknownBalancer, "there is none")),
        ];
        for say in says {
            let answer = Answer::from(say);
            let text = line(&answer);
            assert_eq!(serde_json::from_slice::<Answer>(&text).ok(), Some(answer));
        }
        let refused = line(&Answer::from(Say::Error(Refused::new(Code::Busy, "m"))));
        assert_eq!(refused, b"{\"v\":1,\"error\":{\"code\":\"busy\",\"message\":\"m\"}}\n");
    }
}
