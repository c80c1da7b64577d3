#![allow(clippy::unwrap_used)]

use std::fs;

use super::*;
use crate::geo::dat::SiteKind::{Full, Keyword, Regex, Suffix};
use crate::geo::write::{GeoIp, GeoSite, write_networks, write_sites};
use crate::model::matcher::{Bare, DomainRule, IpRule, IpSet};

fn wanted(texts: &[&str]) -> Wanted {
    let mut wanted = Wanted::default();
    for text in texts {
        match DomainRule::parse(text, Bare::Keyword) {
            Ok(DomainRule::List(list)) => _ = wanted.names.insert(*list),
            _ => match IpRule::parse(text).unwrap().set {
                IpSet::List(list) => _ = wanted.nets.insert(*list),
                IpSet::Net(_) => unreachable!(),
            },
        }
    }
    wanted
}

fn put(dir: &Path, name: &str, bytes: &[u8]) {
    fs::write(dir.join(name), bytes).unwrap();
}

fn sites() -> Vec<u8> {
    let name = |kind, text: &str, attributes: &[&str]| {
        (kind, text.to_owned(), attributes.iter().map(|a| (*a).to_owned()).collect())
    };
    write_sites(&[
        GeoSite {
            code: "SHOPS".into(),
            names: vec![
                name(Suffix, "Shop.example", &["cn"]),
                name(Full, "www.market.example", &["cn", "ads"]),
                name(Keyword, "sale", &[]),
                name(Regex, "(", &[]),
                name(Regex, r"^s\d+\.", &[]),
            ],
        },
        GeoSite { code: "lower".into(), names: vec![name(Full, "lower.example", &[])] },
        GeoSite { code: "SHOPS".into(), names: vec![name(Full, "second.example", &[])] },
        GeoSite { code: "EMPTY".into(), names: vec![] },
    ])
}

#[test]
fn lists_are_compiled_and_filtered_by_attributes() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), "geosite.dat", &sites());
    let nets = vec!["10.0.0.0/8".parse().unwrap()];
    put(dir.path(), "own.dat", &write_networks(&[GeoIp { code: "OFFICE".into(), nets }]));
    let assets = Assets::new([dir.path().to_path_buf()]);
    let mut want =
        wanted(&["geosite:shops", "geosite:shops@CN@ads", "geosite:lower", "geosite:empty", "geosite:shops@none"]);
    want.nets.extend(IpRule::parse("ext:own.dat:office").ok().and_then(|rule| match rule.set {
        IpSet::List(list) => Some(*list),
        IpSet::Net(_) => None,
    }));
    let found = assets.load(&want, None);
    assert!(found.faults.is_empty(), "{:?}", found.faults);
    assert_eq!(found.skipped.len(), 1, "{:?}", found.skipped);
    let meets = |text: &str, name: &str| {
        let DomainRule::List(list) = DomainRule::parse(text, Bare::Keyword).unwrap() else { unreachable!() };
        found.lists.names(&list).unwrap().first(name).is_some()
    };
    assert!(meets("geosite:shops", "a.shop.example"), "values are compared in lower case");
    assert!(meets("geosite:shops", "wholesale.example") && meets("geosite:shops", "s7.example"));
    assert!(meets("geosite:shops@cn@ads", "www.market.example") && !meets("geosite:shops@cn@ads", "shop.example"));
    assert!(meets("geosite:lower", "lower.example"), "a code in lower case is found");
    assert!(!meets("geosite:shops", "second.example"), "the first list of a name counts");
    assert!(!meets("geosite:empty", "x.example") && !meets("geosite:shops@none", "shop.example"));
    let office = want.nets.first().unwrap();
    assert!(found.lists.nets(office).unwrap().contains("10.9.9.9".parse().unwrap()));
}

/// A file of a few bytes on the disk that claims to be of terabytes: no memory is spent on what it claims.
#[test]
fn a_hostile_file_that_claims_to_be_huge_costs_no_memory() {
    let dir = tempfile::tempdir().unwrap();
    let huge = 1u64 << 40;
    // One entry called A, and all the rest of the file is its.
    let mut head = vec![0x0a];
    crate::geo::protobuf::put_number(&mut head, 0, huge - 64);
    head.remove(1);
    head.extend([0x0a, 1, b'A']);
    put(dir.path(), "geosite.dat", &head);
    File::options().write(true).open(dir.path().join("geosite.dat")).unwrap().set_len(huge).unwrap();
    let found = Assets::new([dir.path().to_path_buf()]).load(&wanted(&["geosite:a"]), None);
    let [(list, _, error)] = found.faults.as_slice() else { panic!("{:?}", found.faults) };
    assert_eq!(list.code, "A");
    assert!(error.to_string().contains("an entry is larger than any list can be, at byte "), "{error}");
}

#[test]
fn what_cannot_be_had_is_named_with_advice() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put(second.path(), "geosite.dat", &sites());
    put(first.path(), "geoip.dat", b"<html>");
    let assets = Assets::new([first.path().to_path_buf(), second.path().to_path_buf()]);
    let want =
        wanted(&["geosite:shop", "geosite:quite-other", "geoip:cn", "ext-site:none.dat:a", "ext-site:../x.dat:a"]);
    let mut found = assets.load(&want, None).faults;
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let said: Vec<String> = found.iter().map(|(_, _, error)| error.to_string()).collect();
    let (dir, dir2) = (first.path().display(), second.path().display());
    assert_eq!(
        said,
        [
            "../x.dat: a geodata file must lie inside the asset directory, so its name is relative and without `..`"
                .to_owned(),
            format!("{dir}/geoip.dat: not a list of geodata, at byte 0"),
            format!("{dir2}/geosite.dat: there is no list quite-other in it"),
            format!("{dir2}/geosite.dat: there is no list shop in it"),
            format!("none.dat: there is no such geodata file in {dir}, {dir2}"),
        ]
    );
    let help = |at: usize| found[at].2.help().unwrap_or_default();
    assert_eq!(help(3), "did you mean shops?");
    assert_eq!(help(2), format!("`etemenanki geodata list {dir2}/geosite.dat` shows what it holds"));
    assert!(help(4).contains("XRAY_LOCATION_ASSET"));
}

#[test]
fn lists_of_a_file_that_has_not_changed_are_taken_over() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), "geosite.dat", &sites());
    let assets = Assets::new([dir.path().to_path_buf()]);
    let want = wanted(&["geosite:shops"]);
    let list = want.names.first().unwrap();
    let (first, again) = (assets.load(&want, None), |before: &Found| assets.load(&want, Some(before)));
    let second = again(&first);
    let same = |a: &Found, b: &Found| Arc::ptr_eq(a.lists.names(list).unwrap(), b.lists.names(list).unwrap());
    assert!(same(&first, &second));
    put(dir.path(), "geosite.dat", &write_sites(&[GeoSite { code: "SHOPS".into(), names: vec![] }]));
    let third = again(&second);
    assert!(!same(&second, &third));
    assert!(third.lists.names(list).unwrap().is_empty());
}

#[test]
fn the_environment_names_the_first_directory() {
    let none = |_: &str| None;
    let program = Path::new("/opt/tool/bin/etemenanki");
    assert_eq!(Assets::usual(&none, Some(program)).dirs()[0], Path::new("/opt/tool/bin"));
    let env = |name: &str| (name == "V2RAY_LOCATION_ASSET").then(|| "/srv/geo".to_owned());
    let usual = Assets::usual(&env, Some(program));
    assert_eq!(usual.dirs()[0], Path::new("/srv/geo"));
    assert!(!usual.dirs().contains(&PathBuf::from("/opt/tool/bin")), "as Xray: the environment stands in for it");
}
