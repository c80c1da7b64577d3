//! Addresses that stand for names until a flow comes back with them.

use ipnet::IpNet;
use serde_json::{Value as Json, json};

use crate::record;
use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, Reader, Table, Value};

record! {
    /// Addresses that stand for names until a flow comes back with them.
    pub struct FakePool {
        /// The network they are taken from.
        ip_pool: Option<IpNet> => "ipPool";
        /// How many names are remembered.
        pool_size: u32 => "poolSize";
    }
    hook FakePool::settle;
}

/// Pools of fake addresses; one may stand without brackets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FakePools(pub Vec<FakePool>);

/// Whether clients are given fake addresses in place of a server's answers (V2Ray 5).
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ServerFakes {
    /// They are given the server's answers.
    #[default]
    Off,
    /// Those of the pools of all.
    Shared,
    /// Those of pools of its own.
    Own(FakePools),
}

/// Names of a network that is written without their number (V2Ray's bound).
pub(super) const USUAL: u32 = 65535;

impl FakePool {
    /// A network that is written alone.
    fn alone(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let net = IpNet::read(cx, node)?;
        match addresses(net).map_or(USUAL, |all| (all - 1).min(USUAL)) {
            0 => cx.wrong_value(node, "a network of more than one address"),
            most => Some(Self { ip_pool: Some(net), pool_size: most }),
        }
    }

    /// Xray finds out about bad pools at the start only; here they are told at once.
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        let (Some(net), 1..) = (self.ip_pool, self.pool_size) else {
            let keys = if cx.json() { ("ipPool", "poolSize") } else { ("ip_pool", "pool_size") };
            let message = format!("invalid fakeDNS setting: a pool needs both `{}` and `{}`", keys.0, keys.1);
            cx.error(table.node(), Kind::Missing, message);
            return;
        };
        if addresses(net).is_some_and(|all| self.pool_size >= all) {
            let message = format!(
                "LRU size is bigger than subnet size: {net} has no more addresses than the {} names it is to hold",
                self.pool_size
            );
            cx.error(table.node(), Kind::Value, message).help =
                Some("write fewer names, or a network with a shorter prefix".into());
        }
    }
}

/// How many addresses a network has, where they can be counted.
fn addresses(net: IpNet) -> Option<u32> {
    1_u32.checked_shl(u32::from(net.max_prefix_len() - net.prefix_len()))
}

impl Field for FakePools {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let one = |cx: &mut Reader<'_>, node: &Node| match &node.value {
            Value::Text(_) => FakePool::alone(cx, node),
            Value::Null => None,
            _ => FakePool::read(cx, node),
        };
        match &node.value {
            Value::List(items) => Some(Self(cx.each(items, one).into_iter().flatten().collect())),
            _ => one(cx, node).map(|pool| Self(vec![pool])),
        }
    }

    fn write(&self, dialect: Dialect) -> Plain {
        self.0.write(dialect)
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        let pool = json!({ "anyOf": [FakePool::shape(dialect, defs), { "type": "string" }] });
        json!({ "anyOf": [pool, { "type": "array", "items": pool }] })
    }
}

impl Field for ServerFakes {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        match &node.value {
            Value::Bool(true) => Some(Self::Shared),
            Value::Bool(false) => Some(Self::Off),
            _ => {
                FakePools::read(cx, node).map(|pools| if pools.0.is_empty() { Self::Shared } else { Self::Own(pools) })
            }
        }
    }

    fn write(&self, dialect: Dialect) -> Plain {
        match self {
            Self::Off => false.into(),
            Self::Shared => true.into(),
            Self::Own(pools) => pools.write(dialect),
        }
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        json!({ "anyOf": [{ "type": "boolean" }, FakePools::shape(dialect, defs)] })
    }
}
