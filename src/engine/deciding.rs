//! How it is decided where the datagrams to one target go: their first ones may be listened to, then the rules are asked.

use std::sync::Arc;

use super::choose::{Because, Heading, Nowhere, head};
use super::house::House;
use super::links::Route;
use super::sniffing::Ear;
use crate::addr::Target;
use crate::flow::{BoxFuture, Flow, Sniffed};
use crate::net::Waiting;

/// Which way, why, and what the first datagrams gave away.
#[derive(Clone)]
pub(super) struct Leading {
    pub(super) route: Route,
    pub(super) because: Because,
    pub(super) heard: Option<Arc<Heard>>,
}

/// What the first datagrams to a target gave away.
pub(super) struct Heard {
    pub(super) sniffed: Option<Sniffed>,
    /// Another target, which is dialed instead.
    pub(super) dialed: Option<Target>,
}

/// A target that is being decided about.
pub(super) struct Deciding {
    pub(super) target: Target,
    /// Of the snapshot that is asked.
    pub(super) generation: u64,
    /// Datagrams that wait for the decision.
    pub(super) waiting: Vec<Waiting>,
    pub(super) heard: Option<Arc<Heard>>,
    pub(super) step: Step,
}

/// How far the decision is.
pub(super) enum Step {
    /// It is not clear yet what the datagrams are.
    Listening(Box<Ear>, Box<Flow>),
    /// The rules are asked.
    Asking(BoxFuture<'static, Result<Heading, Nowhere>>),
}

impl Deciding {
    /// Of what is known of the flow.
    pub(super) fn new(house: &House, target: Target, waiting: Vec<Waiting>, flow: Flow) -> Self {
        let heard = Heard { sniffed: flow.sniffed.clone(), dialed: flow.route_target.clone() };
        let heard = (heard.sniffed.is_some() || heard.dialed.is_some()).then(|| Arc::new(heard));
        let (generation, house) = (house.snapshot.generation, house.clone());
        let answer = async move { head(&house, &flow).await };
        Self { target, generation, waiting, heard, step: Step::Asking(Box::pin(answer)) }
    }

    /// Ends listening: the rules are asked about the flow as it is known now.
    pub(super) fn ask(&mut self, house: &House, flow: Flow) {
        let (target, waiting) = (self.target.clone(), std::mem::take(&mut self.waiting));
        *self = Self::new(house, target, waiting, flow);
    }
}
