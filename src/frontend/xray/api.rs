//! `api`.

use crate::model::services::Api;
use crate::shape::{Field, Kind, Node, Reader, nearest};

/// The services that exist.
const SERVICES: &[&str] =
    &["HandlerService", "RoutingService", "StatsService", "LoggerService", "ObservatoryService", "ReflectionService"];

/// Reads the section.
pub fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Api> {
    let api = Api::read(cx, node)?;
    if api.tag.is_empty() {
        cx.error(node, Kind::Missing, "API tag can't be empty.").help = Some("add \"tag\": \"api\"".into());
    }
    let known = |name: &str| SERVICES.iter().any(|s| s.eq_ignore_ascii_case(name)) || name.starts_with('#');
    for name in api.services.iter().filter(|name| !known(name)) {
        let message = format!("unknown service `{name}`, expected some of {}", SERVICES.join(", "));
        cx.warn(node, Kind::Value, message).help = nearest(name, SERVICES.iter().copied())
            .map_or_else(|| Some("it is skipped, as Xray does".into()), |name| Some(format!("did you mean `{name}`?")));
    }
    Some(api)
}
