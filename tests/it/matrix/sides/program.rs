//! The programs, and what is common to starting them.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::matrix::keys::Keys;
use crate::matrix::link::{Carrier, Cell, Link, Proto, Version};
use crate::support::{Process, program};

use super::{libev, mihomo, sing_box, trojan, v2ray, xray};

/// A program that can be at an end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    Ours,
    SingBox,
    Mihomo,
    V2ray,
    Libev,
    Trojan,
    /// Only where `XRAY_BIN` says where it is.
    Xray,
}

/// Which end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Client,
    Server,
}

/// A program that was not started yet: its arguments, its files, and the ports that it will open.
pub struct Launch {
    pub command: Command,
    pub files: Vec<(&'static str, String)>,
    pub ports: Vec<Port>,
}

/// A port of loopback that a program opens.
#[derive(Debug, Clone, Copy)]
pub enum Port {
    /// For streams, perhaps for datagrams as well.
    Tcp(u16),
    /// For datagrams alone.
    Udp(u16),
}

impl Program {
    /// The programs of the table beside ours.
    pub const PEERS: [Self; 5] = [Self::SingBox, Self::Mihomo, Self::V2ray, Self::Libev, Self::Trojan];

    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Ours, Self::SingBox, Self::Mihomo, Self::V2ray, Self::Libev, Self::Trojan, Self::Xray];

    /// The one with this name.
    pub fn called(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "etemenanki",
            Self::SingBox => "sing-box",
            Self::Mihomo => "mihomo",
            Self::V2ray => "v2ray",
            Self::Libev => "shadowsocks-libev",
            Self::Trojan => "trojan",
            Self::Xray => "Xray",
        }
    }

    /// Why it cannot be this end of a link.
    pub fn lacks(self, link: &Link, role: Role) -> Option<String> {
        let lacks = match self {
            Self::Ours => return xray::not_built(link, role),
            Self::SingBox => sing_box::lacks(link, role),
            Self::Mihomo => mihomo::lacks(link, role),
            Self::V2ray => v2ray::lacks(link, role),
            Self::Libev => libev::lacks(link, role),
            Self::Trojan => trojan::lacks(link, role),
            Self::Xray => xray::lacks(link),
        };
        lacks.map(|what| format!("{} {what}", self.name()))
    }

    /// Whether it passes on the end of one half while the other goes on. Seen in runs of the peers with each other.
    pub fn half_close(self, link: &Link, role: Role) -> bool {
        match self {
            Self::Ours => true,
            Self::Mihomo => mihomo::half_close(link, role),
            Self::SingBox => sing_box::half_close(link, role),
            Self::V2ray | Self::Xray => v2ray::half_close(link, role),
            Self::Libev | Self::Trojan => false,
        }
    }

    /// Whether a long upload through it arrives.
    pub fn uploads(self, link: &Link, role: Role) -> bool {
        // 1.19.32 loses bytes there, also those of its own client and of sing-box.
        !(self == Self::Mihomo && role == Role::Server && matches!(link.proto, Proto::Vmess(..)))
    }

    /// Whether it says who sent a datagram, where the protocol can.
    pub fn full_cone(self) -> bool {
        self != Self::V2ray
    }

    /// Starts this end of all cells.
    pub fn start(self, role: Role, cells: &[Cell], keys: &Keys) -> Vec<Process> {
        let launches = match self {
            Self::Ours | Self::Xray => vec![xray::launch(self, role, cells, keys)],
            Self::SingBox => vec![sing_box::launch(role, cells, keys)],
            Self::Mihomo => vec![mihomo::launch(role, cells, keys)],
            Self::V2ray => vec![v2ray::launch(role, cells, keys)],
            Self::Libev => cells.iter().flat_map(|cell| libev::launch(role, cell, keys)).collect(),
            Self::Trojan => cells.iter().flat_map(|cell| trojan::launch(role, cell, keys)).collect(),
        };
        launches.into_iter().map(|launch| launch.start(self.name())).collect()
    }

    /// What it says its version is.
    pub fn version(self) -> String {
        let ask = |name: &str, args: &[&str]| {
            let output = Command::new(program(name)).args(args).output().expect("a peer says its version");
            [output.stdout, output.stderr].concat()
        };
        let said = match self {
            Self::Ours => return "this version".into(),
            Self::SingBox => ask("sing-box", &["version"]),
            Self::Mihomo => ask("mihomo", &["-v"]),
            Self::V2ray => ask("v2ray", &["-version"]),
            Self::Libev => ask("ss-server", &["-h"]),
            Self::Trojan => ask("trojan", &["--version"]),
            Self::Xray => Command::new(xray::binary()).arg("version").output().expect("it says its version").stdout,
        };
        let said = String::from_utf8_lossy(&said).into_owned();
        let numbered = |word: &&str| word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
        said.split_whitespace().find(numbered).unwrap_or("unknown").trim_start_matches('v').to_owned()
    }
}

impl Role {
    /// The ports that this end of a cell opens.
    pub fn ports(self, cell: &Cell) -> Vec<Port> {
        match self {
            Self::Client => vec![cell.door.into(), cell.wrong.into()],
            Self::Server if matches!(cell.link.carrier, Carrier::Xhttp(_, Version::Three) | Carrier::Hysteria(_)) => {
                vec![Port::Udp(cell.server)]
            }
            Self::Server => vec![cell.server.into()],
        }
    }

    pub fn all_ports(self, cells: &[Cell]) -> Vec<Port> {
        cells.iter().flat_map(|cell| self.ports(cell)).collect()
    }
}

impl From<u16> for Port {
    fn from(port: u16) -> Self {
        Self::Tcp(port)
    }
}

impl Launch {
    /// A program with one JSON file, named by `args` as `config.json`.
    pub fn json(program: &Path, args: &[&str], config: &Value, ports: Vec<Port>) -> Self {
        let mut command = Command::new(program);
        command.args(args);
        Self { command, files: vec![("config.json", config.to_string())], ports }
    }

    fn start(mut self, name: &str) -> Process {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (file, text) in &self.files {
            std::fs::write(folder.path().join(file), text).expect("the folder is ours");
        }
        self.command.current_dir(folder.path()).env("XDG_RUNTIME_DIR", folder.path()).env("HOME", folder.path());
        let mut process = Process::start(name, self.command, folder);
        for port in self.ports {
            let opened = match port {
                Port::Tcp(port) => process.wait_to_listen((Ipv4Addr::LOCALHOST, port).into()),
                Port::Udp(port) => process.wait_to_take((Ipv4Addr::LOCALHOST, port).into()),
            };
            assert!(opened, "{name} ends by itself:\n{}", process.output());
        }
        process
    }
}
