#![allow(clippy::unwrap_used)]

use super::*;
use crate::frontend::json;
use crate::frontend::text::Text;
use crate::shape::Dialect;

/// Merges files and shows tags of inbounds, of outbounds, keys of sections, and the messages.
fn merge(files: &[(&str, &str)]) -> (String, String, String, Vec<String>) {
    let env = |_: &str| None;
    let mut cx = Reader::new(Dialect::Json, &env);
    let names: Vec<String> = files.iter().map(|f| f.0.to_owned()).collect();
    let mut all: Option<Envelope> = None;
    for (n, (name, body)) in files.iter().enumerate() {
        let text = Text::new(u16::try_from(n).unwrap(), *name, *body);
        let root = json::parse(&text, false).root.unwrap();
        let envelope = Envelope::open(&mut cx, root);
        match &mut all {
            Some(all) => all.put(&mut cx, envelope, &names),
            None => all = Some(envelope),
        }
    }
    let all = all.unwrap();
    let show = |items: &[Item]| {
        let one = |item: &Item| format!("{}@{}", tag(&item.node), item.node.span.file);
        items.iter().map(one).collect::<Vec<_>>().join(" ")
    };
    let sections: Vec<_> = all.sections.iter().map(|e| format!("{}@{}", e.key, e.key_span.file)).collect();
    let told = cx.problems.iter().map(|p| format!("{}: {}", p.path, p.message)).collect();
    (show(&all.inbounds), show(&all.outbounds), sections.join(" "), told)
}

#[test]
fn case_016_a_known_tag_is_replaced_whole_and_told() {
    let (inbounds, _, _, told) = merge(&[
        ("base.json", r#"{"inbounds": [{"tag": "in", "port": 1}, {"tag": "keep"}]}"#),
        ("user.json", r#"{"inbounds": [{"tag": "in"}, {"tag": "more"}]}"#),
    ]);
    assert_eq!(inbounds, "in@1 keep@0 more@1");
    assert_eq!(told, ["inbounds[0]: inbound `in` of user.json replaces the one of base.json"]);
}

#[test]
fn trap_8_later_outbounds_stand_in_front_unless_the_name_says_tail() {
    let first = ("a.json", r#"{"outbounds": [{"tag": "a"}, {"tag": "b"}]}"#);
    let (_, outbounds, _, told) =
        merge(&[first, ("c.json", r#"{"outbounds": [{"tag": "c"}, {"tag": "b"}, {"tag": "d"}]}"#)]);
    assert_eq!(outbounds, "c@1 d@1 a@0 b@1");
    assert!(told[1].contains("`c` is the default outbound now"), "{told:?}");
    let (_, outbounds, _, _) = merge(&[first, ("TAILscale/c.json", r#"{"outbounds": [{"tag": "c"}]}"#)]);
    assert_eq!(outbounds, "a@0 b@0 c@1");
}

#[test]
fn the_empty_tag_is_a_tag() {
    let (inbounds, outbounds, _, _) = merge(&[
        ("a", r#"{"inbounds": [{"port": 1}], "outbounds": [{}]}"#),
        ("b", r#"{"inbounds": [{"port": 2}, {"port": 3}], "outbounds": [{"tag": "x"}]}"#),
    ]);
    assert_eq!((inbounds.as_str(), outbounds.as_str()), ("@1", "x@1 @0"));
}

#[test]
fn sections_are_replaced_and_env_is_merged() {
    let (_, _, sections, told) = merge(&[
        ("a", r#"{"log": {"loglevel": "debug"}, "env": {"A": "1", "B": "1"}, "odd": 1}"#),
        ("b", r#"{"LOG": {}, "dns": null, "env": {"B": "2"}, "odd": 2}"#),
    ]);
    assert_eq!(sections, "LOG@1 env@0 odd@0 odd@1");
    assert_eq!(told, ["LOG: `LOG` of b replaces the whole section of a"]);
}

#[test]
fn case_010_the_old_envelope_comes_first() {
    let (inbounds, outbounds, _, told) = merge(&[(
        "old.json",
        r#"{"port": 80, "inbounds": [{"tag": "c"}], "inboundDetour": [{"tag": "b"}, null], "inbound": {"tag": "a"},
            "outbounds": [{"tag": "z"}], "outbound": {"tag": "x"}, "outboundDetour": [{"tag": "y"}]}"#,
    )]);
    assert_eq!((inbounds.as_str(), outbounds.as_str()), ("a@0 b@0 c@0", "x@0 y@0 z@0"));
    assert_eq!(told.len(), 5);
    assert!(told[4].starts_with("port: `port` at the root"), "{told:?}");
}

#[test]
fn a_list_that_is_none_is_an_error() {
    let (_, _, _, told) = merge(&[("a", r#"{"inbounds": {"port": 1}, "outbound": []}"#)]);
    assert_eq!(told[0], "inbounds: invalid type: map, expected an array");
    assert_eq!(told[2], "outbound: invalid type: sequence, expected an object");
}
