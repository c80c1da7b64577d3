//! From the fields of an event to the text of a line, without its time.

use std::fmt::{self, Write};

use tracing::field::{Field, Visit};
use tracing::{Event, Metadata};

use super::level::word;

/// Longest line in bytes. What peers send can be in it, so it must end somewhere.
const LONGEST: usize = 4096;

/// The fields of one event, sorted by what they mean in a line.
#[derive(Debug, Default)]
pub(super) struct Fields {
    message: String,
    others: String,
    error: String,
    flow: String,
}

impl Fields {
    pub(super) fn of(event: &Event<'_>) -> Self {
        let mut fields = Self::default();
        event.record(&mut fields);
        fields
    }

    /// `[Level] [flow] module: message key=value > error`.
    pub(super) fn general(self, metadata: &Metadata<'_>, flow: Option<&str>) -> String {
        let mut line = String::with_capacity(64 + self.message.len() + self.others.len() + self.error.len());
        let _ = write!(line, "[{}] ", word(*metadata.level()));
        let flow = flow.filter(|_| self.flow.is_empty()).unwrap_or(&self.flow);
        if !flow.is_empty() {
            let _ = write!(line, "[{flow}] ");
        }
        let target = metadata.target();
        let module =
            target.strip_prefix(env!("CARGO_CRATE_NAME")).and_then(|rest| rest.strip_prefix("::")).unwrap_or(target);
        for (index, part) in module.split("::").enumerate() {
            line.push_str(if index == 0 { "" } else { "/" });
            line.push_str(part);
        }
        let _ = write!(line, ": {}{}", self.message, self.others);
        if !self.error.is_empty() {
            let _ = write!(line, " > {}", self.error);
        }
        one_line(line)
    }

    /// The message alone.
    pub(super) fn plain(self) -> String {
        one_line(self.message)
    }

    fn slot(&mut self, name: &str) -> &mut String {
        match name {
            "message" => &mut self.message,
            "error" => &mut self.error,
            "flow" => &mut self.flow,
            _ => {
                let _ = write!(self.others, " {name}=");
                &mut self.others
            }
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.slot(field.name()).push_str(value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.slot(field.name()), "{value:?}");
    }
}

/// The fields of target `access`.
#[derive(Debug, Default)]
pub(super) struct Access {
    from: String,
    verdict: String,
    to: String,
    inbound: String,
    arrow: String,
    outbound: String,
    reason: String,
    email: String,
}

impl Access {
    pub(super) fn of(event: &Event<'_>) -> Self {
        let mut access = Self::default();
        event.record(&mut access);
        access
    }

    /// `from SOURCE accepted NETWORK:HOST:PORT [in -> out] reason email: USER`.
    pub(super) fn text(self) -> String {
        let mut line = format!("from {} {} {}", self.from, self.verdict, self.to);
        match (self.inbound.as_str(), self.outbound.as_str()) {
            (_, "") => {}
            ("", outbound) => _ = write!(line, " [{outbound}]"),
            (inbound, outbound) => _ = write!(line, " [{inbound} {} {outbound}]", self.arrow),
        }
        if !self.reason.is_empty() {
            let _ = write!(line, " {}", self.reason);
        }
        if !self.email.is_empty() {
            let _ = write!(line, " email: {}", self.email);
        }
        one_line(line)
    }
}

impl Visit for Access {
    fn record_str(&mut self, field: &Field, value: &str) {
        let slot = match field.name() {
            "from" => &mut self.from,
            "verdict" => &mut self.verdict,
            "to" => &mut self.to,
            "inbound" => &mut self.inbound,
            "arrow" => &mut self.arrow,
            "outbound" => &mut self.outbound,
            "reason" => &mut self.reason,
            "email" => &mut self.email,
            _ => return,
        };
        slot.push_str(value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

/// What a span named `flow` is known by.
#[derive(Debug, Default)]
pub(super) struct FlowId(pub(super) String);

impl Visit for FlowId {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "id" {
            self.0 = format!("{value:?}");
        }
    }
}

/// A line stays one line and of bounded length, whatever names a peer invents: a forged second line would be believed.
fn one_line(mut line: String) -> String {
    if line.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
        line.truncate(end);
        line.push('…');
    }
    if line.contains(char::is_control) {
        line = line.chars().fold(String::with_capacity(line.len() + 8), |mut clean, c| {
            if c.is_control() {
                clean.extend(c.escape_default())
            } else {
                clean.push(c)
            }
            clean
        });
    }
    line
}
