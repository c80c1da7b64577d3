//! What mKCP's older keys `header` and `seed` mean today: masks.

use super::mask::{KcpHeader, MkcpLegacy, UdpMask};
use crate::shape::{Class, Kind, Node, Reader, Value};

/// The masks that the older keys of `kcpSettings` mean: the seal first, the look nearer to the wire.
pub(super) fn masks(cx: &mut Reader<'_>, settings: &Node) -> Vec<UdpMask> {
    let find = |name: &str| {
        let entries = settings.map().unwrap_or_default();
        entries.iter().rev().find(|e| e.key.eq_ignore_ascii_case(name)).filter(|e| !e.node.is_null())
    };
    let (header, seed) = (find("header"), find("seed"));
    if header.is_none() && seed.is_none() {
        return vec![];
    }
    let mut seal = MkcpLegacy::default();
    if let Some(seed) = seed {
        cx.secrets.push(seed.node.span);
        match seed.node.text() {
            Some(text) => seal.value = text.into(),
            None => {
                cx.error(&seed.node, Kind::Type, "invalid type: the seed must be a string");
            }
        }
    }
    let mut out = vec![UdpMask::MkcpLegacy(seal)];
    if let Some(header) = header {
        out.extend(look(cx, &header.node).map(UdpMask::MkcpLegacy));
    }
    for old in [header, seed].into_iter().flatten() {
        let message = format!("`{}` of kcpSettings is now a mask `mkcp-legacy` in finalmask.udp", old.key);
        cx.key(&old.key, |cx| {
            cx.warn(&old.node, Kind::Legacy, message);
            cx.mark(old.node.span, Class::Rewritten, "finalmask.udp");
        });
    }
    out
}

fn look(cx: &mut Reader<'_>, header: &Node) -> Option<MkcpLegacy> {
    let text = |name: &str| {
        let entries = header.map().unwrap_or_default();
        entries.iter().rev().find(|e| e.key.eq_ignore_ascii_case(name)).and_then(|e| match &e.node.value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        })
    };
    let word = text("type").unwrap_or_default();
    let kind = match word.to_ascii_lowercase().as_str() {
        "" | "none" => return None,
        "srtp" => KcpHeader::Srtp,
        "utp" => KcpHeader::Utp,
        "wechat" | "wechat-video" => KcpHeader::Wechat,
        "dtls" => KcpHeader::Dtls,
        "wireguard" => KcpHeader::Wireguard,
        "dns" => KcpHeader::Dns,
        _ => {
            cx.error(header, Kind::Value, format!("invalid header {word:?}"));
            return None;
        }
    };
    let value = text("domain").filter(|_| kind == KcpHeader::Dns).unwrap_or_default();
    Some(MkcpLegacy { header: kind, value: value.as_str().into() })
}
