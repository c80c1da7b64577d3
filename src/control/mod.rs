//! The local control socket: whoever is this user asks a running engine what it knows, and gives it orders.
//!
//! A request is one JSON line, the answer one or several. What is shown is the balancer's own `Report`, so that this and
//! every other place agree. The socket is for this user and root alone, three times over: its folder, its mode, and the
//! credentials of whoever connects.

mod client;
mod gallery;
mod house;
mod live;
mod notes;
mod place;
mod protocol;
mod server;
mod trial;

pub use client::{Client, ClientError, Running, running};
pub use gallery::{Gallery, Heard};
pub use house::House;
pub use live::Live;
pub use place::{PlaceError, Surroundings};
pub use protocol::{Answer, Ask, Code, EngineReport, OrderAsk, Refused, Reports, Request, Say, Tested, VERSION};
pub use server::Server;
