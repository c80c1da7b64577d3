#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn read(body: &str) -> Parsed {
    parse(&Text::new(0, "c.yaml", body))
}

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

#[test]
fn bare_words_are_yaml_1_1() {
    assert_eq!(
        tree(
            "a: yes\nb: 0755\nc: 1_000\nd: 1e3\ne: 'no'\nf: n\non: ~\ng: 1.5\nh: 10.0.0.1\ni: 0x1f\nj: -3\nk: !!str 5\n"
        ),
        r#"{a:true,b:493,c:1000,d:1000,e:"no",f:false,true:null,g:1.5,h:"10.0.0.1",i:31,j:-3,k:"5"}"#
    );
    assert_eq!(tree("a: 1-2\nb: 89\nc: 089\nd: '08'\ne: ++1"), r#"{a:"1-2",b:89,c:89,d:"08",e:"++1"}"#);
}

#[test]
fn lists_maps_and_their_places() {
    let body = "inbounds:\n  - port: 80 # web\n    tag: é\n  - {port: [1, 2]}\n";
    let parsed = read(body);
    let root = parsed.root.unwrap();
    assert_eq!(show(&root), r#"{inbounds:[{port:80,tag:"é"},{port:[1,2]}]}"#);
    let first = &root.map().unwrap()[0].node.list().unwrap()[0].map().unwrap()[0];
    let cut = |s: Span| &body[s.start as usize..s.end as usize];
    assert_eq!((cut(first.key_span), cut(first.node.span)), ("port", "80"));
    assert_eq!((parsed.comments[0].text.as_str(), parsed.comments[0].own_line), ("web", false));
}

#[test]
fn aliases_merge_keys_and_repeated_keys() {
    assert_eq!(tree("x: &a {p: 1, q: 2}\nw: {<<: *a, q: 3}\nz: *a"), "{x:{p:1,q:2},w:{q:3,p:1},z:{p:1,q:2}}");
    assert_eq!(tree("a: 1\na: 2"), "{a:2}");
    assert_eq!(
        read("a: 1\na: 2").problems[0].message,
        "`a` is written twice, on line 1 and on line 2: the last one counts"
    );
}

#[test]
fn aliases_cannot_fill_the_memory() {
    let mut body = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let items = vec![format!("*a{}", n - 1); 10].join(", ");
        body.push_str(&format!("b{n}: &a{n} [{items}]\n"));
    }
    assert!(read(&body).problems[0].message.contains("too much text"));
}

#[test]
fn broken_yaml_is_told_with_its_place() {
    let body = "a:\n\t- b: [1, 2\n";
    let parsed = read(body);
    assert!(parsed.root.is_none() && parsed.problems[0].span.is_some(), "{:?}", parsed.problems);
    assert_eq!(read("").problems[0].message, "the file is empty");
    assert_eq!(read("- 1").problems[0].message, "a configuration is a mapping, found sequence");
    assert!(read(&"[".repeat(10_000)).root.is_none());
    assert!(read(&format!("a: {}", "- ".repeat(10_000))).root.is_none());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(body in "([a-c\\[\\]{}:,#'\"\\\\\n &*!|>0-9-]|é|<<: ){0,60}") {
        let parsed = read(&body);
        for problem in &parsed.problems {
            let span = problem.span.unwrap_or_default();
            prop_assert!(body.get(span.start as usize..span.end as usize).is_some(), "{problem:?}");
        }
        prop_assert!(parsed.root.is_some() || !parsed.problems.is_empty());
    }
}
