//! Hysteria servers.

use crate::inbound::{Hysteria, Member};
use crate::model::protocol::HysteriaIn;
use crate::model::stream::{Carrier, Stream};
use crate::proto::hysteria::auth::Users;

/// Users listed take the place of the one whose password stands in the stream, as in Xray.
pub(super) fn hysteria(written: &HysteriaIn, stream: &Stream) -> Result<Hysteria, String> {
    let Carrier::Hysteria(carrier) = &stream.carrier else {
        return Err("a hysteria inbound needs `\"network\": \"hysteria\"` in its streamSettings".to_owned());
    };
    let listed = written
        .clients
        .iter()
        .enumerate()
        .map(|(place, user)| (user.auth.expose().as_str(), Member::new(&user.email, user.level).at(place)));
    let one = carrier.auth.expose().as_str();
    let users = match (written.clients.is_empty(), one) {
        (false, _) => Users::new(listed),
        (true, "") => return Err("nobody could come in: it needs users, or \"auth\" in hysteriaSettings".to_owned()),
        (true, one) => Users::new([(one, Member::default())]),
    };
    Ok(Hysteria::new(users))
}
