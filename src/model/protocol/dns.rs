//! Answers DNS questions in the process, and passes the rest.

use crate::addr::{Host, PortSet};
use crate::model::fields::Port;
use crate::model::matcher::DomainRules;
use crate::shape::{Kind, Reader, Table};

crate::words! {
    /// Over what questions are passed on.
    pub enum DnsNetwork(fold, else Keep) {
        /// Over what they came.
        Keep = "keep" => "";
        /// TCP.
        Tcp = "tcp";
        /// UDP.
        Udp = "udp";
    }
}

crate::words! {
    /// What happens to a question.
    pub enum DnsAction(fold) {
        /// It is passed on as it is.
        Direct = "direct";
        /// It gets no answer.
        Drop = "drop";
        /// It gets an empty answer with a code.
        Return = "return";
        /// The DNS of this process answers it.
        Hijack = "hijack";
    }
}

crate::words! {
    /// What happened to questions that were not for addresses, before there were rules.
    pub enum NonIpQuery(exact) {
        /// They are refused.
        Reject = "reject" => "reject" | "";
        /// They get no answer.
        Drop = "drop";
        /// They are passed on.
        Skip = "skip";
    }
}

crate::record! {
    /// A rule about questions; the first that matches decides.
    pub struct DnsRule {
        /// What happens to a question that matches.
        action: DnsAction => "action", required;
        /// Numbers of record types that match; none means all.
        q_type: Option<PortSet> => "qType";
        /// Names that match, as domain rules; none means all.
        domain: DomainRules => "domain";
        /// The code of an empty answer.
        r_code: u16 => "rCode";
    }
}

crate::record! {
    /// Answers DNS questions in the process, and passes the rest.
    pub struct DnsOut {
        /// Over what questions are passed on.
        network: DnsNetwork => "network" | "rewriteNetwork";
        /// The server they are passed to; none keeps theirs.
        address: Option<Host> => "address" | "rewriteAddress";
        /// Its port; 0 keeps theirs.
        port: Port => "port" | "rewritePort";
        /// Which policy level its flows have.
        user_level: u32 => "userLevel";
        /// What happens to which question. Without a rule that matches, questions for addresses are answered here and
        /// others get an empty answer.
        rules: Vec<DnsRule> => "rules";
        /// Older: what happens to questions that are not for addresses.
        non_ip_query: Option<NonIpQuery> => "nonIPQuery";
        /// Older: record types that are dropped, or refused with `reject`.
        block_types: Option<Vec<u16>> => "blockTypes";
    }
    hook DnsOut::settle;
}

impl DnsOut {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        if !self.rules.is_empty() && (self.non_ip_query.is_some() || self.block_types.is_some()) {
            let message = "legacy nonIPQuery and blockTypes cannot be mixed with rules";
            cx.error(table.node(), Kind::Conflict, message);
        }
    }
}
