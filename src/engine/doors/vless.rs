//! VLESS servers.

use super::fallback::fallbacks as fallbacks_of;
use crate::inbound::{Member, Vless, VlessUser};
use crate::model::protocol::VlessIn;
use crate::proto::vless::{Id, Users};

pub(super) fn vless(written: &VlessIn) -> Result<Vless, String> {
    if !written.decryption.is_none() {
        return Err("decryption other than none is not built yet".into());
    }
    let users = written.clients.iter().map(|user| {
        let member = Member::new(&user.email, user.level);
        (Id::new(*user.id.bytes()).key(), VlessUser { member })
    });
    let fallbacks = written.fallbacks.as_deref().filter(|written| !written.is_empty());
    Ok(Vless::new(Users::new(users), fallbacks.map(fallbacks_of).transpose()?))
}
