//! Answers speed tests of our own clients.

use crate::addr::DomainName;
use crate::shape::{Kind, Reader, Table};

crate::record! {
    /// Answers speed tests itself, inside the tunnel: for users that logged in, at a host that exists nowhere else.
    pub struct Responder {
        /// The host that is answered for. Clients of ours ask `probe.invalid`.
        host: String = Responder::HOST.to_owned() => "host";
    }
    hook Responder::settle;
}

impl Responder {
    /// The host that our clients ask; nobody can own it (RFC 6761).
    pub const HOST: &str = "probe.invalid";

    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        match DomainName::new(&self.host) {
            Ok(name) => name.as_str().clone_into(&mut self.host),
            Err(why) => {
                let message = format!("invalid host {:?}: {why}", self.host);
                cx.error(table.node(), Kind::Value, message).help = Some(format!("leave it out for {}", Self::HOST));
            }
        }
    }
}
