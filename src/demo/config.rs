//! The config of the demo: what a user of Xray would have, with the ports of this run.

use std::net::SocketAddr;

use super::scene::{NAMES, WEIGHTS};

/// The balancer's tag.
pub const BALANCER: &str = "best";

/// The config as text. Without guards: a member that was killed would be out for longer than the whole demo lasts, and
/// the rounds are what is shown.
#[must_use]
pub fn text(inbound: u16, members: [SocketAddr; 3], tests: SocketAddr) -> String {
    let outbound = |(name, at): (&str, SocketAddr)| {
        let (address, port) = (at.ip(), at.port());
        format!(
            r#"    {{ "tag": "{name}", "protocol": "socks", "settings": {{ "servers": [{{ "address": "{address}", "port": {port} }}] }} }}"#
        )
    };
    let weight = |(name, weight): (&str, u32)| format!(r#"{{ "tag": "{name}", "weight": {weight} }}"#);
    let outbounds = NAMES.into_iter().zip(members).map(outbound).collect::<Vec<_>>().join(",\n");
    let weights = NAMES.into_iter().zip(WEIGHTS).map(weight).collect::<Vec<_>>().join(", ");
    format!(
        r#"{{
  "log": {{ "loglevel": "warning" }},
  "inbounds": [
    {{ "tag": "in", "listen": "127.0.0.1", "port": {inbound}, "protocol": "socks", "settings": {{ "udp": false }} }}
  ],
  "outbounds": [
{outbounds}
  ],
  "routing": {{
    "rules": [{{ "type": "field", "inboundTag": ["in"], "balancerTag": "{BALANCER}" }}],
    "balancers": [
      {{
        "tag": "{BALANCER}",
        "selector": ["{}", "{}", "{}"],
        "strategy": "optimal",
        "guards": false,
        "optimalSettings": {{
          "timeout": 2000,
          "interval": 500,
          "url": "http://{tests}/",
          "count": 1,
          "weights": [{weights}]
        }}
      }}
    ]
  }}
}}
"#,
        NAMES[0], NAMES[1], NAMES[2]
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::{Format, Options, Source, headline, load};
    use crate::model::balancer::Strategy;

    #[test]
    fn the_config_is_one_that_run_takes_without_a_word() {
        let at = SocketAddr::from(([127, 0, 0, 1], 1080));
        let json = Source { name: "demo.json".into(), bytes: text(0, [at; 3], at).into(), format: Some(Format::Json) };
        let mut loaded = load(vec![json], &Options { strict: true, env: &|_| None });
        let config = loaded.link();
        let said: Vec<_> = loaded.problems.iter().map(|problem| headline(&loaded.sources, problem)).collect();
        assert!(said.is_empty(), "{said:#?}");
        let balancers = config.map(|config| config.balancers).unwrap_or_default();
        let Some(Strategy::Optimal(optimal)) = balancers.first().map(|balancer| &balancer.strategy) else {
            panic!("no optimal balancer: {balancers:?}")
        };
        let weights: Vec<_> = optimal.weights.iter().map(|weight| (weight.tag.as_str(), weight.weight)).collect();
        assert_eq!(weights, NAMES.into_iter().zip(WEIGHTS).collect::<Vec<_>>());
        assert_eq!(balancers[0].members.len(), 3);
    }
}
