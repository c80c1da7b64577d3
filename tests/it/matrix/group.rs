//! All links of a pair of programs, with one process a side (some programs need one a cell).

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::support::{Authority, Nginx, PATIENCE, Process, eventually, free_port};

use super::checks;
use super::keys::{Keys, NAME};
use super::link::{Cell, Link, Proto};
use super::links::links;
use super::sides::{Program, Role};
use super::socks::Failure;
use super::targets::Targets;

/// Cells that are checked at the same time.
const AT_ONCE: usize = 3;

/// Who talks to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    pub client: Program,
    pub server: Program,
}

/// What becomes of a link between two programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    Run,
    /// Why not.
    Not(String),
}

impl Pair {
    pub fn plan(self, link: &Link) -> Plan {
        let (client, server) = (self.client, self.server);
        // What a peer cannot do is said first: that will not change by our building more.
        let theirs = |program: Program, role| (program != Program::Ours).then(|| program.lacks(link, role)).flatten();
        let ours = |program: Program, role| (program == Program::Ours).then(|| program.lacks(link, role)).flatten();
        let lack = theirs(client, Role::Client)
            .or_else(|| theirs(server, Role::Server))
            .or_else(|| ours(client, Role::Client))
            .or_else(|| ours(server, Role::Server));
        lack.map_or(Plan::Run, Plan::Not)
    }

    /// Whether datagrams are checked between them.
    pub fn datagrams(self, link: &Link) -> bool {
        link.datagrams()
    }

    /// Whether full cone is checked between them.
    pub fn full_cone(self, link: &Link) -> bool {
        link.full_cone() && self.client.full_cone() && self.server.full_cone()
    }

    /// Whether a long upload is checked between them.
    pub fn uploads(self, link: &Link) -> bool {
        self.server.uploads(link, Role::Server)
    }

    /// Whether half close is checked between them.
    pub fn half_close(self, link: &Link) -> bool {
        self.uploads(link)
            && link.half_close()
            && self.client.half_close(link, Role::Client)
            && self.server.half_close(link, Role::Server)
    }

    /// Runs every link that both can.
    pub async fn run(self) {
        let chosen = std::env::var("MATRIX_ONLY").unwrap_or_default();
        let links = links().into_iter().filter(|link| self.plan(link) == Plan::Run && link.tag().contains(&chosen));
        let ports = |(nth, link)| Cell { link, nth, server: free_port(), door: free_port(), wrong: free_port() };
        let cells: Vec<Cell> = links.enumerate().map(ports).collect();
        if !cells.is_empty() {
            Run::start(self, cells).await.all().await;
        }
    }
}

/// A run of a pair.
struct Run {
    pair: Pair,
    cells: Vec<Cell>,
    targets: Targets,
    clients: Vec<Process>,
    servers: Vec<Process>,
    _face: Nginx,
}

impl Run {
    async fn start(pair: Pair, cells: Vec<Cell>) -> Self {
        let (face, keys) = face();
        let servers = pair.server.start(Role::Server, &cells, &keys);
        let clients = pair.client.start(Role::Client, &cells, &keys);
        let targets = Targets::start().await;
        if [pair.client, pair.server].contains(&Program::Mihomo) {
            // It listens before it carries anything, and does not say when it does.
            let limit = Instant::now() + PATIENCE;
            while checks::silent(cells[0].door, &targets).await.is_err() && Instant::now() < limit {
                tokio::task::yield_now().await;
            }
        }
        Self { pair, cells, targets, clients, servers, _face: face }
    }

    async fn all(self) {
        let Self { pair, cells, targets, mut clients, mut servers, _face } = self;
        let targets = Arc::new(targets);
        let mut failures = each(pair, &cells, &targets).await;
        failures.extend(killed(pair, &cells, &targets, &mut clients, &mut servers).await);
        let said = |processes: &[Process]| processes.iter().map(|process| tail(&process.output())).collect::<String>();
        for (program, processes) in [(pair.client, &clients), (pair.server, &servers)] {
            if program == Program::Ours && processes.iter().any(|process| process.output().contains("panicked")) {
                failures.push("our process panicked".into());
            }
        }
        assert!(
            failures.is_empty(),
            "{} to {}, {} of {} cells:\n{}\n\nthe client said:\n{}\nthe server said:\n{}",
            pair.client.name(),
            pair.server.name(),
            failures.len(),
            cells.len(),
            failures.join("\n"),
            said(&clients),
            said(&servers)
        );
    }
}

/// The checks of every cell.
async fn each(pair: Pair, cells: &[Cell], targets: &Arc<Targets>) -> Vec<String> {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for cell in cells.iter().cloned() {
        let (room, targets) = (Arc::clone(&room), Arc::clone(targets));
        running.spawn(async move {
            let _place = room.acquire().await.expect("nobody closes it");
            let link = &cell.link;
            let mut failed = vec![];
            let mut note = |result: Result<(), Failure>| failed.extend(result.err());
            note(checks::download(cell.door, &targets).await);
            if pair.uploads(link) {
                note(checks::upload(cell.door, &targets).await);
            }
            note(checks::many(cell.door, &targets).await);
            if pair.half_close(link) {
                note(checks::half_close(cell.door, &targets).await);
            }
            if pair.datagrams(link) {
                note(checks::datagrams(cell.door, &targets).await);
            }
            if pair.full_cone(link) {
                note(checks::full_cone(cell.door, &targets).await);
            }
            if link.secrets() {
                note(checks::stranger(&cell, &targets, refuses(link)).await);
            }
            (!failed.is_empty()).then(|| format!("{link}: {}", failed.join("; ")))
        });
    }
    let mut failures: Vec<String> = running.join_all().await.into_iter().flatten().collect();
    failures.sort();
    failures
}

/// Whether a server of the protocol ends a stranger's stream at once: those that answer before they are asked for a target.
fn refuses(link: &Link) -> bool {
    matches!(link.proto, Proto::Socks | Proto::Http)
}

/// The peer is killed while every cell has a flow: each flow ends, and our process lives.
async fn killed(
    pair: Pair,
    cells: &[Cell],
    targets: &Targets,
    clients: &mut [Process],
    servers: &mut [Process],
) -> Vec<String> {
    let (mut open, mut failures) = (vec![], vec![]);
    for cell in cells {
        match checks::silent(cell.door, targets).await {
            Ok(stream) => open.push((cell.link, stream)),
            Err(failure) => failures.push(format!("{}: {failure}", cell.link)),
        }
    }
    let (victims, survivors) = if pair.client == Program::Ours { (servers, clients) } else { (clients, servers) };
    victims.iter_mut().for_each(Process::kill);
    let mut ending = JoinSet::new();
    for (link, stream) in open {
        ending.spawn(async move { checks::ends(stream).await.err().map(|failure| format!("{link}: {failure}")) });
    }
    failures.extend(ending.join_all().await.into_iter().flatten());
    if !eventually(|| targets.silent() == 0).await {
        failures.push(format!("{} targets still wait {PATIENCE:?} after the peer was killed", targets.silent()));
    }
    for process in survivors {
        if let Some(status) = process.ended() {
            failures.push(format!("the process that was left ends by itself: {status}"));
        }
    }
    failures
}

/// A site with TLS whose face REALITY borrows, and secrets for a run.
pub fn face() -> (Nginx, Keys) {
    let authority = Authority::new();
    let certificate = authority.issue(NAME);
    let dest = free_port();
    let directives = format!(
        "listen 127.0.0.1:{dest} ssl http2; server_name {NAME}; ssl_certificate {}; ssl_certificate_key {};\n\
         ssl_protocols TLSv1.2 TLSv1.3; location / {{ return 200 \"the borrowed face\"; }}",
        certificate.cert().display(),
        certificate.key().display()
    );
    let face = Nginx::start(&[], &directives);
    let keys = Keys::new(authority, dest);
    (face, keys)
}

/// The last lines.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(60);
    lines[from..].join("\n") + "\n"
}
