//! `testdata/configs`: configurations of clients and servers as people have them, by pairs. Each pair starts and carries.
//!
//! What belongs to a machine is put in its place when they are read: addresses, ports, paths of certificates.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::support::{Authority, Certificate, Engine, Nginx, free_port};

use super::checks;
use super::socks::Failure;
use super::targets::Targets;

/// The name in the files.
const NAME: &str = "proxy.example.com";

/// Files of each side that there are at least.
const LEAST: usize = 30;

/// Pairs at the same time.
const AT_ONCE: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_pair_starts_and_carries() {
    let pairs = pairs();
    assert!(pairs.len() >= LEAST, "only {} pairs: were they moved?", pairs.len());
    let (world, room) = (Arc::new(World::start().await), Arc::new(Semaphore::new(AT_ONCE)));
    let mut running = JoinSet::new();
    for pair in pairs {
        let (world, room) = (Arc::clone(&world), Arc::clone(&room));
        running.spawn(async move {
            let _place = room.acquire().await.expect("nobody closes it");
            let name = pair.name.clone();
            world.carry(&pair).await.err().map(|failure| format!("{name}: {failure}"))
        });
    }
    let mut failures = vec![];
    while let Some(ended) = running.join_next().await {
        failures.extend(ended.unwrap_or_else(|panic| Some(panic.to_string())));
    }
    failures.sort();
    assert!(failures.is_empty(), "{} pairs fail:\n{}", failures.len(), failures.join("\n"));
}

/// Two files that belong together.
struct Pair {
    name: String,
    client: PathBuf,
    server: PathBuf,
}

fn pairs() -> Vec<Pair> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/configs");
    let mut sides: BTreeMap<String, (Option<PathBuf>, Option<PathBuf>)> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let [name, side, _] = file.split('.').collect::<Vec<_>>()[..] else { panic!("{file}: NAME.SIDE.FORMAT") };
        let pair = sides.entry(name.to_owned()).or_default();
        match side {
            "client" => pair.0 = Some(path),
            "server" => pair.1 = Some(path),
            _ => panic!("{file} is of no side"),
        }
    }
    let both = |(name, (client, server)): (String, (Option<PathBuf>, Option<PathBuf>))| match (client, server) {
        (Some(client), Some(server)) => Pair { name, client, server },
        _ => panic!("{name} has one side alone"),
    };
    sides.into_iter().map(both).collect()
}

/// What the files name.
struct World {
    authority: Authority,
    certificate: Certificate,
    targets: Targets,
    /// The site whose face REALITY borrows, and to which strangers go.
    face: Nginx,
    borrowed: u16,
}

impl World {
    async fn start() -> Self {
        let (authority, borrowed) = (Authority::new(), free_port());
        let certificate = authority.issue(NAME);
        let directives = format!(
            "listen 127.0.0.1:{borrowed} ssl http2; ssl_certificate {}; ssl_certificate_key {};\n\
             ssl_protocols TLSv1.2 TLSv1.3; location / {{ return 200 \"a site\"; }}",
            certificate.cert().display(),
            certificate.key().display()
        );
        let face = Nginx::start(&[], &directives);
        Self { authority, certificate, targets: Targets::start().await, face, borrowed }
    }

    async fn carry(&self, pair: &Pair) -> Result<(), Failure> {
        let (server, door) = (free_port(), free_port());
        let ports = [
            ("20443", server),
            ("20444", self.borrowed),
            ("20080", free_port()),
            ("20081", self.face.peer.port()),
            ("10808", door),
            ("10809", free_port()),
        ];
        let start = |path: &Path, opened: &[u16]| {
            let (name, text) = self.placed(path, &ports);
            Engine::trusting(&self.authority.cert(), &name, &text, opened)
        };
        let server = if pair.name.contains("-h3") {
            let mut engine = start(&pair.server, &[]);
            engine.wait_to_take(server);
            engine
        } else {
            start(&pair.server, &[server])
        };
        let _client = start(&pair.client, &[door]);
        checks::download(door, &self.targets).await?;
        checks::upload(door, &self.targets).await?;
        if !pair.name.starts_with("http-") {
            checks::datagrams(door, &self.targets).await?;
        }
        let target = self.targets.streams.to_string();
        // Nothing of the client's own went past the server.
        if server.output().contains(&target) { Ok(()) } else { Err(format!("the server has not seen {target}")) }
    }

    /// A file's name, and its text with what this machine has.
    fn placed(&self, path: &Path, ports: &[(&str, u16)]) -> (String, String) {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a plain name").to_owned();
        let mut text = std::fs::read_to_string(path).expect("it is text");
        for (written, port) in ports {
            text = text.replace(written, &port.to_string());
        }
        let paths = [("fullchain", self.certificate.cert()), ("privkey", self.certificate.key())];
        for (file, here) in paths {
            text = text.replace(&format!("/etc/ssl/example/{file}.pem"), &here.display().to_string());
        }
        (name, text.replace("203.0.113.10", "127.0.0.1").replace("\"0.0.0.0\"", "\"127.0.0.1\""))
    }
}
