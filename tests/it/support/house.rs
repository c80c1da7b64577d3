//! An engine inside the test's own process: its listeners take free ports, and it ends with the value.

use std::net::SocketAddr;
use std::sync::Arc;

use etemenanki::addr::PortSet;
use etemenanki::balance::Balancer;
use etemenanki::engine::{Applied, ApplyError, Engine};
use etemenanki::frontend::{Format, Options, Source, load};
use etemenanki::model::config::Config;
use etemenanki::model::draft::Draft;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub struct House {
    local: Vec<(String, SocketAddr)>,
    pub balancers: Vec<Arc<Balancer>>,
    pub engine: Engine,
    stop: CancellationToken,
    running: JoinHandle<()>,
}

impl House {
    /// Runs an Xray JSON config. Inbounds need no port; one they name is not used.
    pub fn start(config: &Value) -> Self {
        Self::run(free_ports(config))
    }

    /// The same at the ports that are named.
    pub fn start_there(config: &Value) -> Self {
        Self::run(linked(config, |_| {}))
    }

    fn run(config: Config) -> Self {
        let bound = Engine::prepare(config).expect("the config can run").bind().expect("loopback has free ports");
        let (local, balancers, stop) = (bound.local(), bound.balancers(), CancellationToken::new());
        let engine = bound.engine();
        Self { local, balancers, engine, stop: stop.clone(), running: tokio::spawn(bound.run(stop)) }
    }

    /// Goes over to another config of the same kind. Inbounds that go on keep their ports.
    pub async fn apply(&self, config: &Value) -> Result<Applied, ApplyError> {
        self.begun().await;
        self.engine.apply(free_ports(config)).await
    }

    /// The same at the ports that are named.
    pub async fn apply_there(&self, config: &Value) -> Result<Applied, ApplyError> {
        self.begun().await;
        self.engine.apply(linked(config, |_| {})).await
    }

    async fn begun(&self) {
        while self.engine.local().await.is_empty() {
            assert!(!self.running.is_finished(), "the engine ended");
            tokio::task::yield_now().await;
        }
    }

    /// Where the inbound with this tag listens.
    pub fn at(&self, tag: &str) -> SocketAddr {
        let found = self.local.iter().find(|(name, _)| name == tag);
        found.unwrap_or_else(|| panic!("no inbound {tag}")).1
    }

    /// The same at this moment, if there is one.
    pub async fn now_at(&self, tag: &str) -> Option<SocketAddr> {
        self.engine.local().await.into_iter().find(|(name, _)| name == tag).map(|(_, at)| at)
    }

    /// Stops it and waits until it is gone.
    pub async fn stop(self) {
        self.stop.cancel();
        self.running.await.expect("the engine does not panic");
    }
}

/// The config with a port of the system's choice for every inbound.
fn free_ports(config: &Value) -> Config {
    let mut config = config.clone();
    for inbound in config["inbounds"].as_array_mut().into_iter().flatten() {
        inbound["port"] = 1.into();
    }
    linked(&config, |draft| draft.inbounds.iter_mut().for_each(|inbound| inbound.ports = Some(PortSet::one(0))))
}

fn linked(config: &Value, change: impl Fn(&mut Draft)) -> Config {
    let source = Source { name: "test.json".into(), bytes: config.to_string().into(), format: Some(Format::Json) };
    let mut loaded = load(vec![source], &Options { strict: false, env: &|_| None });
    loaded.draft.iter_mut().for_each(change);
    loaded.link().unwrap_or_else(|| panic!("the config is refused: {:?}", loaded.problems))
}
