//! Which parts of VLESS can run.

use super::stream::{Part, refuse, skip};
use crate::model::protocol::{Dest, Fallback, VlessAccount, VlessIn};

/// Said of both sides.
const REVERSE: &str = "a VLESS reverse tunnel";

pub(super) fn server(vless: &VlessIn) -> Vec<Part> {
    let reverse = vless.clients.iter().any(|user| user.reverse.is_some());
    let mut parts = if reverse { vec![refuse(REVERSE)] } else { vec![] };
    parts.extend(fallbacks(vless.fallbacks.as_deref().unwrap_or_default()));
    parts
}

/// Fallbacks to what is no place that could be dialed.
pub(super) fn fallbacks(written: &[Fallback]) -> Vec<Part> {
    let places = written.iter().filter(|fallback| !matches!(fallback.place(), Some(Dest::Tcp(_) | Dest::Unix(_))));
    places.map(|fallback| refuse(format!("the fallback `{}`", fallback.dest.0))).collect()
}

pub(super) fn client(account: &VlessAccount) -> Vec<Part> {
    let mut parts = vec![];
    if account.reverse.is_some() {
        parts.push(refuse(REVERSE));
    }
    if account.testpre > 0 {
        parts.push(skip("testpre (connections are opened when flows come)"));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::protocol::{DestText, ReverseUser, VlessUser};
    use crate::shape::Kind;

    #[test]
    fn what_cannot_run_is_named() {
        assert!(server(&VlessIn::default()).is_empty() && client(&VlessAccount::default()).is_empty());
        let user = VlessUser { reverse: Some(ReverseUser::default()), ..VlessUser::default() };
        let none = Fallback { dest: DestText("serve-ws-none".into()), ..Fallback::default() };
        let some = Fallback { dest: DestText("80".into()), ..Fallback::default() };
        let vless = VlessIn { clients: vec![user], fallbacks: Some(vec![none, some]), ..VlessIn::default() };
        let parts = server(&vless);
        assert_eq!(parts, [refuse(REVERSE), refuse("the fallback `serve-ws-none`")]);
        let ahead = VlessAccount { testpre: 1, ..VlessAccount::default() };
        assert!(matches!(client(&ahead)[..], [(Kind::Skipped, _)]));
    }

    #[test]
    fn a_kind_that_is_given_counts() {
        let of = |kind: &str, dest: &str| {
            Fallback { r#type: kind.into(), dest: DestText(dest.into()), ..Fallback::default() }.place()
        };
        assert_eq!(of("unix", "run/x.sock"), Some(Dest::Unix("run/x.sock".into())));
        assert!(matches!(of("tcp", "a.example:80"), Some(Dest::Tcp(_))) && of("tcp", "/run/x.sock").is_none());
        assert!(matches!(of("serve", "x"), Some(Dest::Serve(_))));
    }
}
