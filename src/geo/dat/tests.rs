#![allow(clippy::unwrap_used)]

use std::io::Cursor;

use super::*;
use crate::geo::protobuf::{put_bytes, put_number};
use crate::geo::write::{GeoIp, GeoSite, write_networks, write_sites};

fn site_list(code: &str, names: &[(SiteKind, &str, &[&str])]) -> GeoSite {
    let owned = |attributes: &[&str]| attributes.iter().map(|text| (*text).to_owned()).collect();
    let names = names.iter().map(|(kind, value, attributes)| (*kind, (*value).to_owned(), owned(attributes)));
    GeoSite { code: code.into(), names: names.collect() }
}

fn codes(file: &[u8]) -> io::Result<Vec<(String, u64)>> {
    let mut scan = Scan::new(Cursor::new(file))?;
    let mut found = vec![];
    while let Some(code) = scan.next_entry()? {
        found.push((code.name, code.size));
    }
    Ok(found)
}

fn fault(file: &[u8]) -> String {
    codes(file).unwrap_err().to_string()
}

#[test]
fn what_is_written_is_read_back() {
    let lists = [
        site_list(
            "SHOPS",
            &[
                (SiteKind::Suffix, "shop.example", &["cn", "ads"]),
                (SiteKind::Full, "www.market.example", &[]),
                (SiteKind::Keyword, "sale", &["!cn"]),
                (SiteKind::Regex, r"^s\d+\.example$", &[]),
                (SiteKind::Other(9), "odd", &[]),
            ],
        ),
        site_list("EMPTY", &[]),
        site_list("LAST", &[(SiteKind::Full, "last.example", &[])]),
    ];
    let file = write_sites(&lists);
    let mut scan = Scan::new(Cursor::new(&file)).unwrap();
    for list in &lists {
        assert_eq!(scan.next_entry().unwrap().unwrap().name, list.code);
        let (body, base) = scan.body().unwrap();
        let read: Vec<_> = sites(body, base)
            .map(|site| {
                let site = site.unwrap();
                let attributes = site.attributes().map(str::to_owned).collect();
                (site.kind, site.value.unwrap().to_owned(), attributes)
            })
            .collect();
        assert_eq!(read, list.names);
    }
    assert_eq!(scan.next_entry().unwrap(), None);
    // Passing over bodies leads to the same entries.
    let named: Vec<_> = codes(&file).unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(named, ["SHOPS", "EMPTY", "LAST"]);
}

#[test]
fn attributes_are_keys_in_any_letter_case() {
    let file = write_sites(&[site_list("A", &[(SiteKind::Full, "a.example", &["CN", "!cn"])])]);
    let mut scan = Scan::new(Cursor::new(&file)).unwrap();
    scan.next_entry().unwrap();
    let (body, base) = scan.body().unwrap();
    let site = sites(body, base).next().unwrap().unwrap();
    assert!(site.has("cn") && site.has("!cn") && !site.has("c"));
}

#[test]
fn networks_of_both_families_are_read_and_what_is_none_is_passed_over() {
    let nets = ["10.0.0.0/8", "192.0.2.1/32", "0.0.0.0/0", "fc00::/7"].map(|net| net.parse().unwrap());
    let mut entry = vec![];
    let mut file = write_networks(&[GeoIp { code: "OWN".into(), nets: nets.to_vec() }]);
    put_bytes(&mut entry, 1, b"ODD");
    // A network in the middle of an address, a mapped one, one without a length, and three that are none.
    let mapped = "::ffff:10.1.0.0".parse::<std::net::Ipv6Addr>().unwrap().octets();
    for (ip, bits) in [
        (&[10, 1, 2, 3][..], Some(16)),
        (&mapped, Some(112)),
        (&[1, 2, 3, 4], None),
        (&[10, 0, 0, 0], Some(33)),
        (&[10, 0, 0], Some(8)),
        (&mapped, Some(300)),
    ] {
        let mut net = vec![];
        put_bytes(&mut net, 1, ip);
        if let Some(bits) = bits {
            put_number(&mut net, 2, bits);
        }
        put_bytes(&mut entry, 2, &net);
    }
    put_bytes(&mut file, 1, &entry);
    let mut scan = Scan::new(Cursor::new(&file)).unwrap();
    scan.next_entry().unwrap();
    let (body, base) = scan.body().unwrap();
    let read: Vec<_> = networks(body, base).map(|net| net.unwrap().unwrap()).collect();
    assert_eq!(read, nets);
    scan.next_entry().unwrap();
    let (body, base) = scan.body().unwrap();
    let read: Vec<_> = networks(body, base).map(|net| net.unwrap().map(|net| net.to_string())).collect();
    let some = |net: &str| Some(net.to_owned());
    assert_eq!(read, [some("10.1.0.0/16"), some("10.1.0.0/16"), some("0.0.0.0/0"), None, None, None]);
}

#[test]
fn fields_that_nobody_knows_are_passed_over() {
    let mut entry = vec![];
    put_bytes(&mut entry, 3, b"hash");
    put_number(&mut entry, 68_000, 7);
    put_bytes(&mut entry, 1, b"late");
    let mut name = vec![];
    put_number(&mut name, 1, 3);
    put_bytes(&mut name, 2, b"a.example");
    put_number(&mut name, 77, 1);
    put_bytes(&mut entry, 2, &name);
    let mut file = vec![];
    put_number(&mut file, 9, 1);
    put_bytes(&mut file, 8, b"passed over");
    put_bytes(&mut file, 1, &entry);
    assert_eq!(codes(&file).unwrap(), [("late".to_owned(), entry.len() as u64)]);
    let mut scan = Scan::new(Cursor::new(&file)).unwrap();
    scan.next_entry().unwrap();
    let (body, base) = scan.body().unwrap();
    assert_eq!(sites(body, base).next().unwrap().unwrap().value, Some("a.example"));
}

#[test]
fn a_broken_file_is_an_error_with_a_place() {
    let file = write_sites(&[site_list("A", &[(SiteKind::Full, "a.example", &[])])]);
    assert_eq!(fault(&file[..file.len() - 1]), "an entry reaches past the end of the file, at byte 0");
    assert_eq!(fault(b"<html>"), "not a list of geodata, at byte 0");
    assert_eq!(fault(&[0x0a, 0x80]), "a length cannot be read, at byte 1");
    assert_eq!(
        fault(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
        "an entry reaches past the end of the file, at byte 0"
    );
    // Inside of an entry: a name that reaches past its end.
    let mut entry = vec![];
    put_bytes(&mut entry, 1, b"A");
    entry.extend([0x12, 0x40, 0x00]);
    let mut file = vec![];
    put_bytes(&mut file, 1, &entry);
    let mut scan = Scan::new(Cursor::new(&file)).unwrap();
    scan.next_entry().unwrap();
    let (body, base) = scan.body().unwrap();
    let error = sites(body, base).next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "a length reaches past the end, at byte 5");
    assert_eq!(sites(body, base).count(), 1, "nothing comes behind an error");
}

proptest::proptest! {
    /// Whatever the bytes are, reading them ends, and what is handed out lies within them.
    #[test]
    fn any_bytes_are_read_to_an_end(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        let mut scan = Scan::new(Cursor::new(&bytes)).unwrap();
        while let Ok(Some(code)) = scan.next_entry() {
            proptest::prop_assert!(code.size <= bytes.len() as u64);
            let (body, base) = scan.body().unwrap();
            sites(body, base).chain(sites(body, base)).for_each(|site| _ = site.map(|site| site.attributes().count()));
            networks(body, base).for_each(drop);
        }
    }
}
