//! What the tests share: programs that are started on free ports, awaited, and ended when they go out of scope.
#![allow(dead_code, unused_imports, reason = "a tool box: not every subject needs every tool")]

mod certificate;
mod curl;
mod danted;
mod dig;
mod dnsmasq;
mod doq;
mod engine;
mod exits;
mod house;
mod lossy;
mod microsocks;
mod nginx;
mod ports;
mod process;
mod sing_box;
mod throttle;
mod unbound;

pub use certificate::{Authority, Certificate};
pub use curl::{Answer, curl};
pub use danted::danted;
pub use dig::dig;
pub use dnsmasq::{dnsmasq, dnsmasq_knowing};
pub use doq::Doq;
pub use engine::{Engine, run_once, run_once_in};
pub use exits::{
    Exit, Who, association, echo, eventually, exit_of, line, open_files, serve_each, socks_outbound, tunnel, tunnel_as,
    wrapped,
};
pub use house::House;
pub use lossy::Lossy;
pub use microsocks::microsocks;
pub use nginx::Nginx;
pub use ports::{PATIENCE, free_port, until};
pub use process::{Peer, Process, program};
pub use sing_box::sing_box;
pub use throttle::Throttle;
pub use unbound::{Speech, unbound, unbound_at};
