//! A pair of geodata files of the size and shape that people use, made of nothing: the same bytes each time.

use std::path::Path;

use etemenanki::geo::{GeoIp, GeoSite, SiteKind, write_networks, write_sites};

/// Lists of names; one in ten is large.
pub const LISTS: usize = 1_500;
/// Names in all of them.
pub const NAMES: usize = 300_000;
/// Lists of networks, one a country.
pub const COUNTRIES: usize = 250;
/// Networks in all of them.
pub const NETS: usize = 400_000;

/// What a config of the ordinary kind names: the largest lists and some small ones.
pub const SITES: [&str; 6] = ["site0", "site1", "site7@ads", "site30", "site200", "site1499"];
/// The same of networks.
pub const IPS: [&str; 4] = ["country0", "country3", "!country20", "country249"];

/// Writes `geosite.dat` and `geoip.dat` into a folder.
pub fn write(folder: &Path) -> std::io::Result<()> {
    let mut random = Random(1);
    let sites: Vec<GeoSite> = shares(LISTS, NAMES)
        .zip(0..)
        .map(|(count, n)| GeoSite {
            code: format!("SITE{n}"),
            names: (0..count).map(|at| name(&mut random, n, at)).collect(),
        })
        .collect();
    std::fs::write(folder.join("geosite.dat"), write_sites(&sites))?;
    let countries: Vec<GeoIp> = shares(COUNTRIES, NETS)
        .zip(0..)
        .map(|(count, n)| GeoIp {
            code: format!("COUNTRY{n}"),
            nets: (0..count).filter_map(|at| net(&mut random, at)).collect(),
        })
        .collect();
    std::fs::write(folder.join("geoip.dat"), write_networks(&countries))
}

/// A config that names the ten lists and listens at a port.
pub fn config(port: u16) -> String {
    let quoted = |kind: &str, codes: &[&str]| {
        codes.iter().map(|code| format!("\"{kind}:{code}\"")).collect::<Vec<_>>().join(", ")
    };
    format!(
        r#"{{ "log": {{ "loglevel": "warning" }},
            "inbounds": [{{ "protocol": "socks", "listen": "127.0.0.1", "port": {port} }}],
            "outbounds": [{{ "protocol": "freedom", "tag": "direct" }}],
            "routing": {{ "rules": [
                {{ "domain": [{}], "outboundTag": "direct" }}, {{ "ip": [{}], "outboundTag": "direct" }}
            ] }} }}"#,
        quoted("geosite", &SITES),
        quoted("geoip", &IPS)
    )
}

/// Splits a number into shares of which the first are the largest by far, as in the files of the field.
fn shares(count: usize, all: usize) -> impl Iterator<Item = usize> {
    let weight = |n: usize| 1.0 / (n as f64 + 4.0);
    let sum: f64 = (0..count).map(weight).sum();
    let share = move |n: usize| (weight(n) / sum * all as f64) as usize;
    let rest = all - (0..count).map(share).sum::<usize>();
    (0..count).map(move |n| share(n) + if n == 0 { rest } else { 0 })
}

fn name(random: &mut Random, list: usize, at: usize) -> (SiteKind, String, Vec<String>) {
    let attributes = if at % 20 == 3 { vec!["ads".to_owned()] } else { vec![] };
    let word = random.word(4, 12);
    match at % 200 {
        0 => (SiteKind::Keyword, format!("{word}{list}x"), attributes),
        1 => (SiteKind::Regex, format!(r"^{word}[0-9]+\.{}\.(com|net)$", random.word(5, 9)), attributes),
        n if n % 4 == 2 => (SiteKind::Full, format!("{}.{word}.example", random.word(2, 6)), attributes),
        _ => (SiteKind::Suffix, format!("{word}.{}", random.word(2, 3)), attributes),
    }
}

fn net(random: &mut Random, at: usize) -> Option<ipnet::IpNet> {
    let bits = [24, 24, 23, 22, 20, 16][random.below(6)];
    let address = random.next() as u32;
    let text = if at.is_multiple_of(5) {
        format!("2a00:{:x}:{:x}::/{}", address >> 16, address & 0xffff, 32 + bits % 16)
    } else {
        format!("{}/{bits}", std::net::Ipv4Addr::from(address))
    };
    text.parse::<ipnet::IpNet>().ok().map(|net| net.trunc())
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn word(&mut self, least: usize, most: usize) -> String {
        let len = least + self.below(most - least + 1);
        (0..len).map(|_| char::from(b'a' + self.below(26) as u8)).collect()
    }
}
