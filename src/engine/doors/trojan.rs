//! Trojan servers.

use super::fallback::fallbacks;
use crate::inbound::{Member, Trojan};
use crate::model::protocol::TrojanIn;
use crate::proto::trojan::{Token, Users};

pub(super) fn trojan(written: &TrojanIn) -> Result<Trojan, String> {
    let users = written.clients.iter().enumerate().map(|(place, user)| {
        let member = Member::new(&user.email, user.level.into()).at(place);
        (*Token::new(user.password.expose()).text(), member)
    });
    let fallbacks = (!written.fallbacks.is_empty()).then(|| fallbacks(&written.fallbacks)).transpose()?;
    Ok(Trojan::new(Users::new(users), fallbacks))
}
