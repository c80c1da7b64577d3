//! `docs/compatibility.md`: what the runs of `runs` check, and why other combinations are not run.
//!
//! `UPDATE_COMPATIBILITY=1 cargo test --test it matrix::table` writes it anew; look at the difference before committing it.

use std::fmt::Write as _;
use std::path::Path;

use super::group::{Pair, Plan};
use super::link::Link;
use super::links::links;
use super::sides::Program;

/// What was seen by hand, with a peer that the tests do not have: date, program and version, links, and what was found.
const BY_HAND: [[&str; 4]; 6] = [
    [
        "2026-11-30",
        "Xray 26.7.28",
        "our client, its server: all rows but XHTTP over HTTP/3",
        "every check passes; it does not pass on a half close",
    ],
    [
        "2026-11-30",
        "Xray 26.7.28",
        "its client, our server: all rows but XHTTP over HTTP/3",
        "every check passes but two, which its client fails in the same way with its own server, sing-box and mihomo: it does not \
         pass on the end of a download over Shadowsocks 2022, and resets a Trojan flow at the end of an upload of 3 MiB",
    ],
    [
        "2026-12-01",
        "Xray 26.7.28",
        "our client, its server, and the other way round: the rows of XHTTP over HTTP/3",
        "every check passes",
    ],
    [
        "2026-12-01",
        "Xray 26.7.28",
        "our client, its server, and the other way round: the rows of VLESS encryption",
        "every check passes",
    ],
    [
        "2026-12-01",
        "Xray 26.7.28",
        "our client, its server, and the other way round: the rows of Hysteria 2",
        "every check passes, datagrams too, though its client announces none; it does not pass on a half close",
    ],
    [
        "2026-12-01",
        "Xray 26.7.28, mihomo 1.19.32",
        "both ways: Vision in VLESS encryption of each mode, raw, WebSocket and (Xray) TLS, with TLS 1.3 inside",
        "6 MiB down and up pass, three times each",
    ],
];

#[test]
fn the_committed_table_is_what_is_run() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/compatibility.md");
    let text = page();
    if std::env::var_os("UPDATE_COMPATIBILITY").is_some() {
        std::fs::write(&path, &text).expect("the folder is ours");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "{} is not what is run; it would be:\n{text}", path.display());
}

fn page() -> String {
    let mut reasons = Reasons::default();
    let mut rows = String::new();
    for link in links() {
        let _ = write!(rows, "| {} |", row_name(&link));
        for pair in pairs() {
            let _ = write!(rows, " {} |", cell(pair, &link, &mut reasons));
        }
        rows.push('\n');
    }
    let mut head = "| protocol, carrier, security |".to_owned();
    for pair in pairs() {
        let _ = write!(head, " {} |", column(pair));
    }
    head.push_str("\n|---|");
    head.push_str(&"---|".repeat(pairs().len()));
    let mut page = format!("{INTRODUCTION}\n{}\n\n{LEGEND}\n\n{head}\n{rows}", versions());
    page.push_str("\n## Why a cell is not run\n\n");
    for (number, reason) in reasons.0.iter().enumerate() {
        let _ = writeln!(page, "{}. {reason}", number + 1);
    }
    page.push_str("\n## Seen by hand\n\n");
    page.push_str(BY_HAND_INTRODUCTION);
    page.push_str("\n| date | with | what | found |\n|---|---|---|---|\n");
    for [date, program, links, found] in BY_HAND {
        let _ = writeln!(page, "| {date} | {program} | {links} | {found} |");
    }
    page
}

const INTRODUCTION: &str = "# Compatibility

What etemenanki speaks with programs that others wrote. The tests make this page and fail when it differs from what they run
(`tests/it/matrix/`). Every cell with a `yes` is a pair of processes on loopback through which pass: a download and an upload
of 3 MiB whose hashes are compared, 200 small flows at the same time, datagrams of 64 and 1 200 bytes, a client with wrong
secrets (which hears nothing and reaches nobody), and a flow that is open when the peer is killed (it ends).

The peers:
";

const LEGEND: &str = "`to X`: our client, their server. `from X`: their client, our server. What a pair does not do is not checked:
`h`: half close, which that carrier, mux or peer does not have. `c`: datagrams of somebody else than who was asked, because the
protocol or the peer does not say whose they are. `t`: datagrams. `u`: long uploads, of which that peer loses bytes also among
its own. A number says below why the cell is not run.";

const BY_HAND_INTRODUCTION: &str = "With programs that the tests do not install. `XRAY_BIN=/path/to/xray cargo test --test it matrix::runs::xray` runs the\n\
     same checks against Xray.\n";

fn versions() -> String {
    let line = |program: &Program| format!("- {} {}\n", program.name(), version(*program));
    Program::PEERS.iter().map(line).collect()
}

/// The part of a version that is the same on every machine of the tests.
fn version(program: Program) -> String {
    program.version().split(['+', '-']).next().unwrap_or_default().to_owned()
}

/// All columns.
fn pairs() -> Vec<Pair> {
    let ours = Program::Ours;
    let both = |peer| [Pair { client: ours, server: peer }, Pair { client: peer, server: ours }];
    let own = [Pair { client: ours, server: ours }];
    own.into_iter().chain(Program::PEERS.into_iter().flat_map(both)).collect()
}

fn column(pair: Pair) -> String {
    match (pair.client, pair.server) {
        (Program::Ours, Program::Ours) => "ours".into(),
        (Program::Ours, peer) => format!("to {}", peer.name()),
        (peer, _) => format!("from {}", peer.name()),
    }
}

fn row_name(link: &Link) -> String {
    link.to_string().replace(" | ", ", ")
}

fn cell(pair: Pair, link: &Link, reasons: &mut Reasons) -> String {
    match pair.plan(link) {
        Plan::Not(reason) => reasons.number(reason).to_string(),
        Plan::Run => {
            let mut marks = vec!["yes"];
            if !pair.uploads(link) {
                marks.push("u");
            }
            if !pair.half_close(link) {
                marks.push("h");
            }
            if !pair.datagrams(link) {
                marks.push("t");
            } else if !pair.full_cone(link) {
                marks.push("c");
            }
            marks.join(", ")
        }
    }
}

/// Reasons by their numbers.
#[derive(Default)]
struct Reasons(Vec<String>);

impl Reasons {
    fn number(&mut self, reason: String) -> usize {
        let known = self.0.iter().position(|known| *known == reason);
        known.unwrap_or_else(|| {
            self.0.push(reason);
            self.0.len() - 1
        }) + 1
    }
}
