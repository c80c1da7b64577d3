//! The masks of datagrams that a configuration lists.

use super::error::TransportError;
use crate::model::mask::{KcpHeader, MkcpLegacy, UdpMask};
use crate::proto::mask::{Layer, Look, Masks, Salamander, Seal};

/// The name for which masked packets seem to ask where none is set, as in Xray.
const ASKED: &str = "www.baidu.com";

/// The chain of the masks of a list.
///
/// # Errors
/// A mask that cannot be put on.
pub fn masks(list: &[UdpMask]) -> Result<Masks, TransportError> {
    let layers: Result<Vec<Layer>, _> = list.iter().map(layer).collect();
    layers.map(Masks::new)
}

fn layer(mask: &UdpMask) -> Result<Layer, TransportError> {
    let what = match mask {
        UdpMask::Salamander(set) if set.packet_size == Default::default() => {
            return Ok(Layer::Salamander(Salamander::new(set.password.expose().as_bytes())));
        }
        UdpMask::MkcpLegacy(set) => return legacy(set),
        UdpMask::Salamander(_) => "packetSize of the mask salamander",
        UdpMask::Noise(_) => "the mask noise",
        UdpMask::HeaderCustom(_) => "the mask header-custom",
        UdpMask::Sudoku(_) => "the mask sudoku",
        UdpMask::Xdns(_) => "the mask xdns",
        UdpMask::Xicmp(_) => "the mask xicmp",
        UdpMask::Realm(_) => "the mask realm",
    };
    Err(TransportError::NotBuilt { what })
}

fn legacy(set: &MkcpLegacy) -> Result<Layer, TransportError> {
    let value = set.value.expose();
    Ok(Layer::Look(match set.header {
        KcpHeader::None => return Ok(Layer::Seal(Seal::keyed(value))),
        KcpHeader::Srtp => Look::Srtp,
        KcpHeader::Utp => Look::Utp,
        KcpHeader::Dtls => Look::Dtls,
        KcpHeader::Wechat => Look::Wechat,
        KcpHeader::Wireguard => Look::Wireguard,
        KcpHeader::Dns => Look::dns(if value.is_empty() { ASKED } else { value })
            .ok_or(TransportError::Text { what: "value of the mask mkcp-legacy" })?,
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn chains_of_a_configuration() {
        let seal = UdpMask::MkcpLegacy(MkcpLegacy { value: "seed".into(), ..MkcpLegacy::default() });
        let look = |header| UdpMask::MkcpLegacy(MkcpLegacy { header, ..MkcpLegacy::default() });
        let overhead = |list: &[UdpMask]| masks(list).unwrap().overhead();
        assert_eq!(overhead(&[]), 0);
        assert_eq!(overhead(&[look(KcpHeader::None)]), 6);
        assert_eq!(overhead(&[seal, look(KcpHeader::Wechat)]), 28 + 13);
        assert_eq!(overhead(&[look(KcpHeader::Dns)]), 12 + 15 + 4);
        let told = masks(&[UdpMask::Noise(Default::default())]).unwrap_err().to_string();
        assert_eq!(told, "the mask noise is not built yet");
    }
}
