//! What the program says while it runs, in the shape that panels and log readers know from Xray.
//!
//! Everything is said through `tracing`; this folder turns it into lines. A line is made where the event happens and
//! written by a thread of its own behind a bounded buffer, so that a slow disk or a pipe that nobody reads costs lines
//! (they are counted), never the runtime.
//!
//! What the house may say, and how it comes out:
//!
//! - any event: `2006/01/02 15:04:05.000000 [Info] [7] engine/dispatch: message key=value > error`. The number is the
//!   `id` of the surrounding span named `flow`, or the event's own field `flow`; the module is the target. A field
//!   `error` comes last behind ` > `.
//! - target `access`: `… from SOURCE accepted NETWORK:HOST:PORT [in -> out] reason email: USER`, from the fields `from`,
//!   `verdict` (`accepted`, `rejected`), `to`, `inbound`, `arrow` (`->` a rule, `>>` the default, `==>` forced),
//!   `outbound`, `reason`, `email`; empty ones are left out.
//! - target `access::dns`: the message as it is, into the access log, where the settings want names in it.

mod file;
mod layer;
mod level;
mod line;
mod mask;
mod stamp;
mod start;
mod writer;

pub use level::Threshold;
pub use mask::Mask;
pub use start::{Setup, SetupError, Telemetry};
