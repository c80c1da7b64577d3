//! VLESS servers.

use super::fallback::fallbacks;
use crate::engine::encryption;
use crate::inbound::{Member, Vless, VlessUser};
use crate::model::protocol::{VlessIn, VlessUser as Written};
use crate::model::user::VlessFlow;
use crate::proto::vision::{SEED, Seed};
use crate::proto::vless::{Id, Users};

pub(super) fn vless(written: &VlessIn) -> Result<Vless, String> {
    let decryption = match written.decryption.parts() {
        Some(parts) => Some(encryption::server(&parts)?),
        None => None,
    };
    let users = written.clients.iter().enumerate().map(|(place, user)| {
        let member = Member::new(&user.email, user.level).at(place);
        (Id::new(*user.id.bytes()).key(), VlessUser { member, vision: vision(written, user) })
    });
    let others = written.fallbacks.as_deref().filter(|others| !others.is_empty());
    Ok(Vless::new(Users::new(users), others.map(fallbacks).transpose()?).behind(decryption))
}

/// The user's own flow counts, and then the inbound's; so do the numbers of its padding.
fn vision(written: &VlessIn, user: &Written) -> Option<Seed> {
    let flow = if user.flow == VlessFlow::None { written.flow } else { user.flow };
    let seed = user.testseed.first_chunk().or_else(|| written.testseed.first_chunk());
    (flow == VlessFlow::Vision).then(|| seed.copied().unwrap_or(SEED))
}
