//! VMess, both sides.

use crate::model::keys::UserId;
use crate::model::server::{Account, Users};
use crate::model::user::unique_emails;
use crate::shape::{Class, Key, Kind, Reader, Table, Value};

crate::words! {
    /// How the body is sealed.
    pub enum VmessSecurity(fold, else Auto) {
        /// AES where the processor has it, else ChaCha20.
        Auto = "auto" => "auto" | "";
        /// AES-128-GCM.
        Aes128Gcm = "aes-128-gcm";
        /// ChaCha20-Poly1305.
        Chacha20 = "chacha20-poly1305";
        /// Not at all, with chunks.
        None = "none";
        /// Not at all, and no chunks.
        Zero = "zero";
    }
}

crate::record! {
    /// Somebody who may come in.
    pub struct VmessUser {
        /// Id.
        id: UserId => "id", required;
        /// A text that may name `AuthenticatedLength` and `NoTerminationSignal`.
        experiments: String => "experiments" | "testsEnabled";
        /// Policy level.
        level: u32 => "level";
        /// A label, unique in its inbound.
        email: String => "email";
    }
    ignored { "security" => "the client chooses" }
    taken { "alterId" => "Counts as 0: the header of that time is not spoken." }
    hook VmessUser::settle;
}

impl VmessUser {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        alter_id(cx, table);
    }
}

crate::record! {
    /// What users have who were made at run time.
    pub struct VmessDefault {
        /// Policy level.
        level: u8 => "level";
    }
    taken { "alterId" => "Counts as 0: the header of that time is not spoken." }
    hook VmessDefault::settle;
}

impl VmessDefault {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        alter_id(cx, table);
    }
}

crate::record! {
    /// A VMess server.
    pub struct VmessIn {
        /// Who may come in.
        clients: Vec<VmessUser> => "clients" | "users";
        /// What users have who were made at run time.
        default: VmessDefault => "default";
    }
    ignored {
        "detour" => "ports of users made at run time are gone",
        "disableInsecureEncryption" => "the client chooses, and unsealed bodies are warned of there",
    }
    hook VmessIn::settle;
}

impl VmessIn {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        unique_emails(cx, table.node(), self.clients.iter().map(|u| u.email.as_str()));
    }
}

crate::record! {
    /// How to be let in by a VMess server.
    pub struct VmessAccount {
        /// Id.
        id: UserId => "id", required;
        /// How the body is sealed.
        security: VmessSecurity => "security";
        /// A text that may name `AuthenticatedLength` and `NoTerminationSignal`.
        experiments: String => "experiments" | "testsEnabled";
        /// Policy level.
        level: u32 => "level";
        /// A label.
        email: String => "email";
    }
    taken { "alterId" => "Counts as 0: the header of that time is not spoken." }
    hook VmessAccount::settle;
}

impl VmessAccount {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        alter_id(cx, table);
        if matches!(self.security, VmessSecurity::None | VmessSecurity::Zero) {
            let word = self.security.as_str();
            cx.warn(table.node(), Kind::Legacy, format!("security `{word}` seals nothing; Xray servers refuse it"));
        }
    }
}

impl Account for VmessAccount {
    const LIST: &'static str = "vnext";
    const USERS: Users = Users::AtLeastOne;
}

/// The number of extra ids of a header that is no longer spoken. Files have it as number, as text, as -1.
fn alter_id(cx: &mut Reader<'_>, table: &mut Table<'_>) {
    let Some(entry) = table.take(cx, Key::json(&["alterId"])) else {
        return;
    };
    cx.key(&entry.key, |cx| {
        let number = match &entry.node.value {
            Value::Int(n) => Some(*n),
            Value::Text(text) if text.trim().is_empty() => Some(0),
            Value::Text(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number {
            Some(n) if n > 0 => {
                cx.warn(
                    &entry.node,
                    Kind::Legacy,
                    format!("alterId {n} counts as 0: the header of that time is not spoken"),
                );
                cx.mark(entry.node.span, Class::Approximated, "alterId is 0");
            }
            Some(0) => cx.mark(entry.node.span, Class::Default, ""),
            Some(_) => cx.mark(entry.node.span, Class::Dropped, "alterId is 0"),
            None => {
                cx.wrong_type::<()>(&entry.node, "a number");
            }
        }
    });
}
