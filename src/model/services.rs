//! Sections that stand beside the flow of traffic: API, metrics, observatories, geodata, version, reverse.

use std::collections::BTreeMap;
use std::time::Duration;

use super::control::Control;
use super::geodata::Geodata;
use super::reload::Reload;
use crate::addr::Tag;
use crate::record;
use crate::shape::GoTime;

record! {
    /// The gRPC management interface.
    pub struct Api {
        /// Its outbound tag.
        tag: Tag => "tag";
        /// Where it listens itself: `ip:port`, `/path[,mode]` or `@name`; empty = through the outbound `tag`.
        listen: String => "listen";
        /// `HandlerService`, `RoutingService`, `StatsService`, `LoggerService`, `ObservatoryService`,
        /// `ReflectionService`.
        services: Vec<String> => "services";
    }
}

record! {
    /// The HTTP listener of metrics.
    pub struct Metrics {
        /// Its outbound tag.
        tag: Tag => "tag";
        /// Where it listens itself, `host:port`.
        listen: String => "listen";
    }
}

record! {
    /// Versions of Xray that the configuration is for.
    pub struct Version {
        /// Lowest.
        min: String => "min";
        /// Highest.
        max: String => "max";
    }
}

record! {
    /// Measures outbounds one after another, or all at once.
    pub struct Observatory {
        /// Its name, where there are several.
        tag: Tag => "tag";
        /// Outbounds whose tags begin so.
        subjects: Vec<String> => "subjectSelector";
        /// What is asked for.
        probe_url: String = "https://www.google.com/generate_204".into() => "probeURL";
        /// Pause after each outbound, or after each round of all.
        probe_interval: GoTime = GoTime(Duration::from_secs(10)) => "probeInterval";
        /// Whether all are measured at once.
        concurrent: bool => "enableConcurrency";
        /// Measuring rests once no flow used the outbounds for so long; absent: never.
        idle: Option<GoTime> => "idle";
    }
}

record! {
    /// Measures outbounds at random moments of a window.
    pub struct BurstObservatory {
        /// Its name, where there are several.
        tag: Tag => "tag";
        /// Outbounds whose tags begin so.
        subjects: Vec<String> => "subjectSelector";
        /// How.
        ping: Option<Ping> => "pingConfig";
        /// Measuring rests once no flow used the outbounds for so long; absent: never.
        idle: Option<GoTime> => "idle";
    }
}

record! {
    /// How a burst observatory measures.
    pub struct Ping {
        /// What is asked for.
        destination: String = "https://connectivitycheck.gstatic.com/generate_204".into() => "destination";
        /// What is asked for directly after a failure, to tell a dead network from a dead outbound; empty = nothing.
        connectivity: String => "connectivity";
        /// Mean pause between two measurements of an outbound.
        interval: GoTime = GoTime(Duration::from_secs(60)) => "interval";
        /// Results kept, and measurements a window.
        sampling: i32 = 10 => "sampling";
        /// Bound of one measurement.
        timeout: GoTime = GoTime(Duration::from_secs(5)) => "timeout";
        /// Method of the request.
        http_method: String = "HEAD".into() => "httpMethod";
    }
}

record! {
    /// Reverse tunnels as V2Ray had them.
    pub struct ReverseTunnels {
        /// Ends that dial out and serve what comes back.
        bridges: Vec<ReverseEnd> => "bridges";
        /// Ends that are dialled and send flows back.
        portals: Vec<ReverseEnd> => "portals";
    }
}

record! {
    /// One end of a reverse tunnel.
    pub struct ReverseEnd {
        /// Its tag.
        tag: Tag => "tag";
        /// The name by which both ends find each other.
        domain: String => "domain";
    }
}

/// Everything beside the traffic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Services {
    /// gRPC API.
    pub api: Option<Api>,
    /// Metrics listener.
    pub metrics: Option<Metrics>,
    /// Whether traffic is counted.
    pub stats: bool,
    /// Versions the configuration is for.
    pub version: Option<Version>,
    /// Downloads of geodata.
    pub geodata: Option<Geodata>,
    /// Plain observatories; V2Ray's `multiObservatory` can hold several.
    pub observatories: Vec<Observatory>,
    /// Burst observatories.
    pub burst_observatories: Vec<BurstObservatory>,
    /// The control socket, and files of what is known.
    pub control: Control,
    /// How changes of the configuration are learned of.
    pub reload: Reload,
    /// Reverse tunnels.
    pub reverse: Option<ReverseTunnels>,
    /// Variables put into the environment before geodata files are opened.
    pub env: BTreeMap<String, String>,
}
