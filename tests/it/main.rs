//! Whole flows over loopback, with other people's programs as peers. One crate with a module a subject, so that it is
//! linked once.
//!
//! A new subject is one `mod` line below and one file; `support` starts programs, waits until they are ready and ends
//! them. Ports are never fixed and nothing sleeps for a guessed time.

mod announced;
mod balancers;
mod balancing;
mod broken;
mod callers;
mod commands;
mod cones;
mod control;
mod datagrams;
mod faking;
mod families;
mod freedom;
mod geodata;
mod hostile;
mod http3;
mod hysteria;
mod idle;
mod keys;
mod matrix;
mod mkcp;
mod naming;
mod naming_forms;
mod peers;
mod probing;
mod promises;
mod questions;
mod reality;
mod relaying;
mod reload;
mod remembering;
mod responder;
mod retry;
mod routing;
mod service;
mod sniffing;
mod sockets;
mod strategies;
mod support;
mod survival;
mod traps;
mod tunnels;
mod updating;
mod verdict;
mod ways;
mod web;
mod wireguard;
mod wireguard_inbound;
