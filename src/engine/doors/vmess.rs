//! VMess servers.

use crate::inbound::{Member, Vmess};
use crate::model::protocol::VmessIn;
use crate::proto::vmess::{Account, Users};

pub(super) fn vmess(written: &VmessIn) -> Vmess {
    Vmess::new(Users::new(
        written.clients.iter().map(|user| (Account::new(user.id.bytes()), Member::new(&user.email, user.level))),
    ))
}
