//! Back to the rules, under the name of another inbound. Xray's users chain balancers with it.

use std::io;

use crate::addr::Tag;
use crate::flow::{BoxPackets, BoxStream, DialError, Flow, Services, Stage, Via};

/// A way back in.
#[derive(Debug, Clone)]
pub struct Loopback {
    inbound: Tag,
}

/// The rules led a flow round and round.
#[derive(Debug, thiserror::Error)]
#[error("rules and outbounds lead in a ring through inbound tag `{inbound}`")]
pub struct Ring {
    /// The tag under which it came back once too often.
    pub inbound: Tag,
}

/// Times a flow may come back. Chains that people write have two or three links.
pub(super) const MAX_HOPS: u8 = 8;

impl Loopback {
    /// Flows come back as if by the inbound with this tag.
    #[must_use]
    pub fn new(inbound: Tag) -> Self {
        Self { inbound }
    }

    pub(super) async fn connect(&self, cx: &dyn Services, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        cx.dial(Via::Route, &self.again(flow)?, first).await
    }

    pub(super) async fn associate(&self, cx: &dyn Services, flow: &Flow) -> Result<BoxPackets, DialError> {
        cx.associate(Via::Route, &self.again(flow)?).await
    }

    fn again(&self, flow: &Flow) -> Result<Flow, DialError> {
        if flow.hops >= MAX_HOPS {
            let ring = Ring { inbound: self.inbound.clone() };
            return Err(DialError::us(Stage::Policy, io::Error::other(ring)));
        }
        let mut again = flow.clone();
        again.inbound = self.inbound.clone();
        again.hops += 1;
        // A pin named this outbound; what lies behind it is the rules' choice.
        again.pin = None;
        Ok(again)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::outbound::testing::{House, flow};

    #[tokio::test]
    async fn the_flow_comes_back_under_another_name() {
        let house = House::default();
        let loopback = Loopback::new("again".into());
        let mut flow = flow("a.example:80");
        flow.pin = Some("loop".into());
        assert!(loopback.connect(&house, &flow, b"").await.is_err());
        let dialed = house.dialed();
        assert_eq!((dialed[0].inbound.as_str(), dialed[0].hops, &dialed[0].pin), ("again", 1, &None));
    }

    #[tokio::test]
    async fn a_ring_is_named() {
        let mut flow = flow("a.example:80");
        flow.hops = MAX_HOPS;
        let Err(error) = Loopback::new("again".into()).connect(&House::default(), &flow, b"").await else {
            unreachable!()
        };
        assert!(error.to_string().ends_with("in a ring through inbound tag `again`"), "{error}");
    }
}
