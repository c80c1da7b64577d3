//! Which plan a balancer's settings ask for.

use std::time::Duration;

use super::plan::{BadUrl, Check, Checks, Order, Plan, Speed, Startup, read_url};
use crate::addr::{OutboundId, Target};
use crate::model::balancer::{Optimal, ProbeKind, Startup as Written, Strategy, TcpProbe};
use crate::model::config::LinkedBalancer;

impl Plan {
    /// The plan of a linked balancer. `server` gives an outbound's own server, where it has one with a port.
    ///
    /// # Errors
    /// [`BadUrl`] where the test URL cannot be fetched.
    pub fn of(linked: &LinkedBalancer, server: impl Fn(OutboundId) -> Option<Target>) -> Result<Self, BadUrl> {
        let probe = linked.probe.filter(|probe| probe.kind != ProbeKind::None);
        match (&linked.strategy, &probe) {
            (Strategy::Optimal(optimal), _) => speed(optimal).map(Self::Speed),
            (Strategy::Failover(failover), Some(probe)) => checks(linked, probe, failover.return_after, server),
            (_, Some(probe)) => checks(linked, probe, 1, server),
            (_, None) => Ok(Self::Nothing),
        }
    }
}

fn speed(optimal: &Optimal) -> Result<Speed, BadUrl> {
    let order = Order {
        url: read_url(&optimal.url)?,
        timeout: optimal.timeout.0,
        max_bytes: optimal.max_bytes,
        accept: optimal.accept_status.from..=optimal.accept_status.to,
        redirects: MAX_REDIRECTS,
    };
    let startup = match optimal.startup {
        Written::First => Startup::First,
        Written::Wait => Startup::Wait(optimal.startup_wait.0),
    };
    Ok(Speed { interval: optimal.interval.0, count: optimal.count, order, startup })
}

fn checks(
    linked: &LinkedBalancer,
    probe: &TcpProbe,
    returns: u32,
    server: impl Fn(OutboundId) -> Option<Target>,
) -> Result<Plan, BadUrl> {
    let timeout = Duration::from_secs(probe.timeout);
    let through = Check::Http(Order::sign_of_life(read_url(SIGN_OF_LIFE)?, timeout));
    // A member without a server of its own can only be asked through itself, whatever the setting says.
    let check = |id: Option<OutboundId>| match (probe.kind, id.and_then(&server)) {
        (ProbeKind::Tcp | ProbeKind::Auto, Some(server)) => Check::Tcp(server),
        _ => through.clone(),
    };
    let of = linked.members.iter().map(|member| check(member.outbound())).collect();
    Ok(Plan::Checks(Checks { interval: Duration::from_secs(probe.interval), timeout, returns, of }))
}

/// As many as browsers and the client library follow at most (balancing rule O2).
const MAX_REDIRECTS: usize = 10;

/// What Xray's observatory asks when nothing is set (`app/observatory/observer.go`).
const SIGN_OF_LIFE: &str = "https://www.google.com/generate_204";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::balancer::Failover;
    use crate::model::config::LinkedMember;

    fn linked(strategy: Strategy, probe: Option<TcpProbe>) -> LinkedBalancer {
        let member = |(tag, id): (&str, u32)| LinkedMember { tag: tag.into(), hop: OutboundId(id).into() };
        let members = [("a", 0), ("b", 1)].map(member).into();
        LinkedBalancer { tag: "pool".into(), members, strategy, probe, fallback: None, guards: true }
    }

    /// Only the first outbound has a server of its own.
    fn server(id: OutboundId) -> Option<Target> {
        (id.0 == 0).then(|| "proxy.example:443".parse().unwrap())
    }

    #[test]
    fn optimal_has_the_seeds_defaults() {
        let Plan::Speed(plan) = Plan::of(&linked(Strategy::Optimal(Optimal::default()), None), server).unwrap() else {
            panic!("not a speed test")
        };
        assert_eq!(plan.order.url.as_str(), "https://www.google.com/");
        assert_eq!(
            (plan.order.timeout, plan.interval, plan.count),
            (Duration::from_secs(5), Duration::from_secs(600), 1)
        );
        assert_eq!((plan.order.max_bytes, plan.order.accept), (16 << 20, 200..=399));
        assert_eq!(plan.startup, Startup::First);
    }

    #[test]
    fn a_test_url_that_cannot_be_fetched_is_an_error_and_no_panic() {
        let optimal = Optimal { url: "http://".into(), ..Optimal::default() };
        assert!(Plan::of(&linked(Strategy::Optimal(optimal), None), server).is_err());
    }

    #[test]
    fn failover_asks_servers_by_tcp_and_members_without_one_through_themselves() {
        let failover = Strategy::Failover(Failover { return_after: 3 });
        let plan = Plan::of(&linked(failover, Some(TcpProbe::default())), server).unwrap();
        let Plan::Checks(Checks { interval, timeout, returns, of }) = plan else { panic!("not checks") };
        assert_eq!((interval, timeout, returns), (Duration::from_secs(30), Duration::from_secs(5), 3));
        assert!(matches!(&of[..], [Check::Tcp(server), Check::Http(_)] if server.port == 443));
    }

    #[test]
    fn a_group_that_nobody_watches_is_not_probed() {
        let random = Strategy::Random(crate::model::balancer::Observed::default());
        assert_eq!(Plan::of(&linked(random, None), server).unwrap(), Plan::Nothing);
    }
}
