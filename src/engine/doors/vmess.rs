//! VMess servers.

use crate::inbound::{Member, Vmess};
use crate::model::carrier::RawKind;
use crate::model::protocol::VmessIn;
use crate::model::stream::{Carrier, Security, Stream};
use crate::proto::vmess::{Account, Users};

pub(super) fn vmess(written: &VmessIn, stream: &Stream) -> Vmess {
    let users = written.clients.iter().enumerate();
    let users =
        users.map(|(place, user)| (Account::new(user.id.bytes()), Member::new(&user.email, user.level).at(place)));
    let raw = matches!(&stream.carrier, Carrier::Raw(raw) if raw.header.r#type != RawKind::Http);
    Vmess::new(Users::new(users), raw && matches!(stream.security, Security::None))
}
