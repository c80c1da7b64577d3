//! What rules and targets are made of: few words, so that they meet often.

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

/// Which rules may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// What v2ray 4.34 and Xray both read, and mean the same by.
    Common,
    /// What Xray alone has.
    Xray,
}

/// Chances from a seed: the same on every run.
pub struct Dice(SmallRng);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(SmallRng::seed_from_u64(seed))
    }

    /// True in so many of a hundred.
    pub fn often(&mut self, percent: u32) -> bool {
        self.0.random_range(0..100) < percent
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    pub fn one<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        of.choose(&mut self.0).expect("something to choose from")
    }

    /// Between one and `most` of them; one may come twice.
    pub fn some<T: Clone>(&mut self, of: &[T], most: usize) -> Vec<T> {
        (0..=self.below(most)).map(|_| self.one(of).clone()).collect()
    }
}

const LABELS: &[&str] = &[
    "www",
    "api",
    "a",
    "b",
    "ab",
    "x1",
    "sale7",
    "tracker",
    "pay",
    "under_score",
    "xn--fiq228c",
    "7",
    "sale",
    "-odd-",
];

const PARENTS: &[&str] = &[
    "shop.example",
    "market.example",
    "example.com",
    "example.cn",
    "example.com.cn",
    "ads.example",
    "bargain.net",
    "a.b.c.d.example.net",
    "lan",
    "xn--fiqs8s",
];

const ALONE: &[&str] = &["router", "shop", "local.example", "cn", "a", "bargain"];

/// A name that a target may have.
pub fn name(dice: &mut Dice) -> String {
    match dice.below(10) {
        0 => (*dice.one(ALONE)).to_owned(),
        1 => (*dice.one(PARENTS)).to_owned(),
        2 => format!("{}.{}.{}", dice.one(LABELS), dice.one(LABELS), dice.one(PARENTS)),
        _ => format!("{}.{}", dice.one(LABELS), dice.one(PARENTS)),
    }
}

const ADDRESSES: &[&str] = &[
    "10.1.2.3",
    "10.255.0.1",
    "11.0.0.1",
    "127.9.9.9",
    "172.16.0.1",
    "172.32.0.1",
    "192.168.7.7",
    "192.168.8.7",
    "198.51.100.0",
    "198.51.100.255",
    "198.51.101.1",
    "203.0.113.7",
    "203.0.113.8",
    "0.0.0.1",
    "255.255.255.254",
    "2001:db8::1",
    "2001:db8:86::1",
    "2001:db8:87::1",
    "2001:dead::1",
    "fc00::1",
    "fdff::1",
    "fe80::1",
    "::2",
];

/// An address that a target or a name may have.
pub fn address(dice: &mut Dice) -> String {
    (*dice.one(ADDRESSES)).to_owned()
}

/// A condition on names.
pub fn domain_rule(dice: &mut Dice, dialect: Dialect) -> String {
    const LISTS: &[&str] = &[
        "geosite:shops",
        "geosite:ads",
        "geosite:cn",
        "geosite:cn@!cn",
        "geosite:shops@cn",
        "geosite:shops@cn@ads",
        "geosite:SHOPS@ads",
        "ext:geosite.dat:ads",
        "ext:geosite.dat:shops@ads",
    ];
    const PATTERNS: &[&str] = &[
        r"regexp:^sale\d+\.",
        r"regexp:\.cn$",
        r"regexp:^[^.]+$",
        r"regexp:^(www|api)\.",
        r"regexp:(?i)SHOP",
        r"regexp:[a-c]{2,3}\.",
        r"regexp:^\w+\.example\.com$",
        r"regexp:_",
    ];
    const PARTS: &[&str] = &["shop", "sale", ".cn", "a.b", "w.", "bargain", "_", "xn--", "example", "1"];
    let lists = if dialect == Dialect::Xray { &["dotless:", "dotless:a", "dotless:shop"][..] } else { &[] };
    match dice.below(if lists.is_empty() { 9 } else { 10 }) {
        0 => format!("full:{}", name(dice)),
        1 => format!("full:{}.{}", dice.one(LABELS), dice.one(PARENTS)),
        2 => format!("domain:{}", dice.one(PARENTS)),
        3 => format!("domain:{}", name(dice)),
        4 => format!("keyword:{}", dice.one(PARTS)),
        5 => (*dice.one(PARTS)).to_owned(),
        6 => (*dice.one(PATTERNS)).to_owned(),
        7 | 8 => (*dice.one(LISTS)).to_owned(),
        _ => (*dice.one(lists)).to_owned(),
    }
}

/// A condition on addresses.
pub fn ip_rule(dice: &mut Dice, dialect: Dialect) -> String {
    const COMMON: &[&str] = &[
        "10.1.2.3",
        "10.0.0.0/8",
        "192.168.7.0/24",
        "198.51.100.0/25",
        "203.0.113.7",
        "128.0.0.0/1",
        "2001:db8::/32",
        "2001:db8:86::1",
        "fc00::/7",
        "::/3",
        "geoip:cn",
        "geoip:four",
        "geoip:private",
        "geoip:PRIVATE",
        "ext:geoip.dat:four",
    ];
    const NEGATED: &[&str] = &[
        "!10.0.0.0/8",
        "!203.0.113.7",
        "!fc00::/7",
        "!2001:db8::/32",
        "geoip:!cn",
        "!geoip:cn",
        "geoip:!four",
        "geoip:!private",
        "geoip:!!cn",
        "!!10.0.0.0/8",
        "!ext:geoip.dat:!cn",
    ];
    if dialect == Dialect::Xray && dice.often(50) {
        return (*dice.one(NEGATED)).to_owned();
    }
    (*dice.one(COMMON)).to_owned()
}

pub const PORTS: &[u16] = &[1, 53, 80, 443, 1000, 1500, 2000, 8080, 65535];

/// A condition on ports, in the forms it has.
pub fn ports(dice: &mut Dice) -> serde_json::Value {
    const TEXTS: &[&str] = &["80", "53,443", "1000-2000", "1,80-443,8080", "1500-65535", "443-443"];
    if dice.often(30) { (*dice.one(PORTS)).into() } else { (*dice.one(TEXTS)).into() }
}
