#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn read(body: &str) -> Parsed {
    parse(&Text::new(0, "c.json", body), false)
}

/// The tree in a short form.
fn show(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".into(),
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Float(x) => format!("{x:?}"),
        Value::Text(t) => format!("{t:?}"),
        Value::List(items) => format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(",")),
        Value::Map(entries) => {
            let entries: Vec<_> = entries.iter().map(|e| format!("{}:{}", e.key, show(&e.node))).collect();
            format!("{{{}}}", entries.join(","))
        }
    }
}

fn tree(body: &str) -> String {
    let parsed = read(body);
    parsed.root.map_or_else(|| format!("{:?}", parsed.problems), |root| show(&root))
}

/// The findings as `line:column message`.
fn told(body: &str) -> Vec<String> {
    let text = Text::new(0, "c.json", body);
    let line = |p: &Problem| {
        let place = text.place(p.span.unwrap_or_default().start);
        format!("{}:{} {}", place.line, place.column, p.message)
    };
    parse(&text, false).problems.iter().map(line).collect()
}

#[test]
fn values_and_places() {
    let body = r#"{"a": [1, -2.5, 1e3, true, null, "x\n\u00e9\ud83d\ude00\/"], "é": {}}"#;
    assert_eq!(tree(body), "{a:[1,-2.5,1000.0,true,null,\"x\\né😀/\"],é:{}}");
    let root = read(body).root.unwrap();
    let entry = &root.map().unwrap()[1];
    assert_eq!(&body[entry.key_span.start as usize..entry.key_span.end as usize], "\"é\"");
    assert_eq!(&body[entry.node.span.start as usize..entry.node.span.end as usize], "{}");
}

#[test]
fn case_001_comments_of_three_kinds_and_strings_that_look_like_them() {
    let body = "// it's\n{ # \"h\"\n \"a\": \"a//b#c\", /* x\n y **/ \"b\": \"p/*q*/r\" // last\n /* , 1 */ }\n# end";
    let parsed = read(body);
    assert_eq!(show(&parsed.root.unwrap()), r#"{a:"a//b#c",b:"p/*q*/r"}"#);
    let texts: Vec<_> = parsed.comments.iter().map(|c| (c.text.as_str(), c.own_line)).collect();
    let expected = [("it's", true), ("\"h\"", false), ("x\n y", false), ("last", false), (", 1", true), ("end", true)];
    assert_eq!(texts, expected);
    assert!(parsed.problems.is_empty());
}

#[test]
fn trailing_commas_are_read_with_a_warning() {
    assert_eq!(tree("{\"a\": [1, 2, ], }"), "{a:[1,2]}");
    assert_eq!(told("{\"a\": [1, 2, ], }").len(), 2);
    assert!(told("{\"a\": 1 , // x\n }")[0].starts_with("1:9 a comma behind"));
}

#[test]
fn repeated_objects_merge_and_the_last_scalar_counts() {
    assert_eq!(tree(r#"{"log":{"a":1,"b":2},"LOG":{"B":3,"c":{}}}"#), "{log:{a:1,B:3,c:{}}}");
    assert_eq!(tree(r#"{"a":1,"A":2}"#), "{A:2}");
    assert_eq!(tree(r#"{"a":[1],"a":[2]}"#), "{a:[2]}");
    assert_eq!(tree(r#"{"a":{"b":1},"a":null}"#), "{a:null}");
    assert_eq!(tree(r#"{"a":1,"a":null}"#), "{a:1}");
    assert_eq!(tree(r#"{"settings":{"b":1},"settings":{"c":1}}"#), "{settings:{c:1}}");
    assert_eq!(
        told("{\"log\":{},\n\"Log\":{}}"),
        ["2:1 `Log` is written twice, on line 1 and on line 2: the two objects are merged"]
    );
}

#[test]
fn keys_of_maps_compare_exactly() {
    assert_eq!(tree(r#"{"hosts":{"A":1,"a":2}}"#), "{hosts:{A:1,a:2}}");
    assert_eq!(tree(r#"{"hosts":{"A":1},"hosts":{"a":2,"A":3}}"#), "{hosts:{A:3,a:2}}");
    let many: Vec<_> = (0..100).map(|n| format!("\"k{n}\":{n}")).collect();
    let body = format!("{{{},\"K7\":1}}", many.join(","));
    assert_eq!(read(&body).root.unwrap().map().unwrap().len(), 100);
}

#[test]
fn mistakes_are_told_where_they_are_and_several_at_once() {
    let body = "{\n  \"a\": 1\n  \"b\": 'x',\n  c: 2,\n  \"d\": yes,\n  \"e\": 007,\n  \"f\" = 1\n}";
    assert_eq!(
        told(body),
        [
            "2:8 a comma is missing behind this value",
            "3:8 strings stand in double quotes",
            "4:3 a key must stand in double quotes",
            "5:8 expected a value, found `yes`",
            "6:8 `007` is no number",
            "7:7 expected `:` after `f`, found `=`",
        ]
    );
}

#[test]
fn what_was_opened_is_named() {
    assert_eq!(told("{\n \"a\": [1, 2}"), ["2:12 expected `,` or `]`, found `}`"]);
    let parsed = read("{\n \"a\": [1, 2}");
    assert_eq!(parsed.problems[0].help.as_deref(), Some("the `[` was opened at line 2, column 7"));
    assert_eq!(told("{\"a\": {\"b\": 1}"), ["1:1 this `{` is never closed"]);
    assert_eq!(told("{\"a\": \"b\n}"), ["1:7 this string is never closed"]);
    assert_eq!(told("{ /* \"a\": 1 }"), ["1:3 this comment is never closed"]);
    assert_eq!(told("{\"a\": }"), ["1:7 expected the value of `a`, found `}`"]);
    assert_eq!(told("{\"a\"}"), ["1:5 expected `:` after `a`, found `}`"]);
    assert_eq!(told("{\"a\": \"C:\\Users\"}"), ["1:10 an unknown escape"]);
    assert_eq!(told("{“a”: 1}")[0], "1:2 expected a key or `}`, found `“`");
    assert!(read("{“a”: 1}").problems[0].help.as_deref().unwrap().contains("write \""));
}

#[test]
fn the_top_level_is_one_object() {
    assert_eq!(told(""), ["1:1 the file is empty"]);
    assert_eq!(told("// x"), ["1:1 the file holds comments only"]);
    assert_eq!(told("[1]"), ["1:1 a configuration is an object, found sequence"]);
    assert_eq!(tree("{\"a\":1} {\"b\""), "{a:1}");
    assert_eq!(told("{\"a\":1}\n}")[0], "2:1 what follows the end of the configuration is not read");
    assert_eq!(tree("{} /* open"), "{}");
}

#[test]
fn strict_mode_refuses_what_xray_refuses_then() {
    for body in ["{} // c", "{\"a\":1,}", "{} {}"] {
        assert!(parse(&Text::new(0, "c", body), true).root.is_none(), "{body}");
        assert!(read(body).root.is_some(), "{body}");
    }
    assert!(parse(&Text::new(0, "c", " {\"a\": [1]} "), true).root.is_some());
}

#[test]
fn ten_thousand_levels_are_an_error_and_no_overflow() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let body = format!("{{\"x\":{}{}}}", open.repeat(10_000), close.repeat(10_000));
        let parsed = read(&body);
        assert!(parsed.root.is_none() && parsed.problems[0].message.contains("512 levels"));
    }
}

#[test]
fn surrogates_that_are_alone_become_replacement_characters() {
    assert_eq!(tree(r#"{"a":"\ud800x\udc00\ud800\u0041"}"#), "{a:\"\u{fffd}x\u{fffd}\u{fffd}A\"}");
    assert_eq!(told(r#"{"a":"\ud800"}"#), ["1:7 half of a surrogate pair, replaced by U+FFFD"]);
}

#[test]
fn paths_lead_to_the_mistake() {
    assert_eq!(read(r#"{"a":[{},{"b":01}]}"#).problems[0].path, "a[1].b");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(body in "\\PC*") {
        let parsed = read(&body);
        prop_assert!(parsed.root.is_some() || !parsed.problems.is_empty());
    }

    #[test]
    fn any_jumble_of_json_is_read_or_refused(body in "([{}\\[\\]\",:'=/*#\\\\\n u0-9a-f-]|true|//|/\\*|\\*/|\\\\ud800|é|“){0,60}") {
        let parsed = read(&body);
        for problem in &parsed.problems {
            let span = problem.span.unwrap_or_default();
            prop_assert!(body.get(span.start as usize..span.end as usize).is_some(), "{problem:?}");
        }
        prop_assert!(parsed.root.is_some() || !parsed.problems.is_empty());
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (text, problems, fine) = super::super::text::decode(0, "c", &bytes, false);
        prop_assert!(fine || !problems.is_empty());
        let _ = parse(&text, false);
    }
}
