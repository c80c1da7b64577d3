//! What services show of themselves and are told to do, in the words of balancers.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use super::status::{HttpServices, Place, Server, Service};
use crate::addr::Tag;
use crate::balance::{Life, MemberReport, Order, Refusal, Report};

impl HttpServices {
    /// One report a service; its members are its servers, and what they carry are requests.
    #[must_use]
    pub fn reports(&self) -> Vec<Report> {
        self.all.iter().map(Service::report).collect()
    }

    /// Follows an order to the service of this name; absent: there is none.
    ///
    /// # Errors
    /// [`Refusal`] where it cannot be followed; nothing was changed then.
    pub fn order(&self, tag: &Tag, order: &Order) -> Option<Result<(), Refusal>> {
        let service = self.all.iter().position(|service| service.tag == *tag)?;
        let (name, fenced) = match order {
            Order::Fence(name) => (name, true),
            Order::Unfence(name) => (name, false),
            Order::Pin { .. } | Order::Unpin | Order::Test(_) => return Some(Err(Refusal::Service(tag.clone()))),
        };
        let servers = &self.all[service].servers;
        let found = servers.iter().position(|server| *server.name == *name.as_str());
        let done = found.map(|server| self.fence(Place { service, server }, fenced));
        Some(done.ok_or_else(|| Refusal::NoMember {
            balancer: tag.clone(),
            member: name.clone(),
            members: servers.iter().map(|server| &*server.name).collect::<Vec<_>>().join(", "),
        }))
    }
}

impl Service {
    fn report(&self) -> Report {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let members: Vec<MemberReport> = self.servers.iter().map(Server::report).collect();
        Report {
            balancer: self.tag.to_string(),
            strategy: "hrw".to_owned(),
            wall_ms: millis(wall),
            serving: members.iter().filter(|member| member.serves).map(|member| member.member.clone()).collect(),
            why: Some("a server for each request, by its key".to_owned()),
            members,
            ..Report::default()
        }
    }
}

impl Server {
    fn report(&self) -> MemberReport {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let up = self.up.load(Ordering::Relaxed);
        let since = |then: Option<Instant>| then.map(|then| millis(then.elapsed()));
        MemberReport {
            member: self.name.to_string(),
            serves: self.open(),
            life: match (up, known.tried) {
                (false, _) => Life::Down,
                (true, None) => Life::Untested,
                (true, Some(_)) => Life::Up,
            },
            fenced: self.fenced.load(Ordering::Relaxed),
            weight: self.weight,
            picks: self.count.picks.load(Ordering::Relaxed),
            flows: self.count.running.load(Ordering::Relaxed),
            last_error: known.error.clone(),
            seen_ms: since(known.well),
            tried_ms: since(known.tried),
            ..MemberReport::default()
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
