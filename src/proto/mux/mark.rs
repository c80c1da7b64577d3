//! How a stream is told to be a carrier of sessions.
//!
//! Protocols without a command for it name a target that nobody can have; VLESS and VMess turn that name into their command.

use crate::addr::{BadDomain, DomainName, Host, Target};

const NAME: &str = "v1.mux.cool";
const PORT: u16 = 9527;

/// The target that marks a carrier.
///
/// # Errors
/// None: the name is one.
pub fn carrier() -> Result<Target, BadDomain> {
    Ok(Target::new(Host::Domain(DomainName::new(NAME)?), PORT))
}

/// Whether a target marks a carrier. Its port says nothing.
#[must_use]
pub fn is_carrier(target: &Target) -> bool {
    target.host.domain().is_some_and(|name| name.as_str() == NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_known_by_its_name_alone() {
        let at = |text: &str| text.parse::<Target>().is_ok_and(|target| is_carrier(&target));
        assert!(carrier().is_ok_and(|target| is_carrier(&target)));
        assert!(at("V1.Mux.Cool:0") && !at("v1.mux.cool.example:9527") && !at("10.0.0.1:9527"));
    }
}
