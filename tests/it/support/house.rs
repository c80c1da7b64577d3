//! An engine inside the test's own process: its listeners take free ports, and it ends with the value.

use std::net::SocketAddr;
use std::sync::Arc;

use etemenanki::addr::PortSet;
use etemenanki::balance::Balancer;
use etemenanki::engine::Engine;
use etemenanki::frontend::{Format, Options, Source, load};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub struct House {
    local: Vec<(String, SocketAddr)>,
    pub balancers: Vec<Arc<Balancer>>,
    stop: CancellationToken,
    running: JoinHandle<()>,
}

impl House {
    /// Runs an Xray JSON config. Inbounds need no port; one they name is not used.
    pub fn start(config: &Value) -> Self {
        let mut config = config.clone();
        for inbound in config["inbounds"].as_array_mut().into_iter().flatten() {
            inbound["port"] = 1.into();
        }
        let source = Source { name: "test.json".into(), bytes: config.to_string().into(), format: Some(Format::Json) };
        let mut loaded = load(vec![source], &Options { strict: false, env: &|_| None });
        if let Some(draft) = &mut loaded.draft {
            draft.inbounds.iter_mut().for_each(|inbound| inbound.ports = Some(PortSet::one(0)));
        }
        let config = loaded.link().unwrap_or_else(|| panic!("the config is refused: {:?}", loaded.problems));
        let bound = Engine::new(&config).expect("the config can run").bind().expect("loopback has free ports");
        let (local, balancers, stop) = (bound.local(), bound.balancers(), CancellationToken::new());
        Self { local, balancers, stop: stop.clone(), running: tokio::spawn(bound.run(stop)) }
    }

    /// Where the inbound with this tag listens.
    pub fn at(&self, tag: &str) -> SocketAddr {
        let found = self.local.iter().find(|(name, _)| name == tag);
        found.unwrap_or_else(|| panic!("no inbound {tag}")).1
    }

    /// Stops it and waits until it is gone.
    pub async fn stop(self) {
        self.stop.cancel();
        self.running.await.expect("the engine does not panic");
    }
}
