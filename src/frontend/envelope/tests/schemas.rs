//! The schemas take what the readers take, and what the writers write.

use serde_json::{Value as Json, json};

use super::protocols::{inbounds, outbounds, streams};
use super::{plain, read, tree};
use crate::frontend::envelope::{inbound, outbound};
use crate::shape::{Defs, Dialect, Plain, PlainMap};

fn validator(schema: impl Fn(&mut Defs) -> Json) -> jsonschema::Validator {
    let mut defs = Defs::default();
    let mut whole = schema(&mut defs);
    let map: serde_json::Map<String, Json> = defs.map.into_iter().collect();
    whole["$defs"] = map.into();
    jsonschema::validator_for(&whole).unwrap()
}

fn assert_valid(validator: &jsonschema::Validator, value: &Json) {
    let faults: Vec<String> = validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(faults.is_empty(), "{value:#}\n{}", faults.join("\n"));
}

fn written(map: PlainMap) -> Json {
    Json::from(&Plain::Map(map))
}

#[test]
fn what_is_read_and_written_is_valid() {
    let inbound_json = validator(|defs| inbound::schema(Dialect::Json, defs));
    let inbound_toml = validator(|defs| inbound::schema(Dialect::Toml, defs));
    for json in inbounds() {
        assert_valid(&inbound_json, &json);
        let model = read(Dialect::Json, &tree(&json), inbound::read).0.unwrap();
        assert_valid(&inbound_json, &written(inbound::write(&model, Dialect::Json)));
        assert_valid(&inbound_toml, &written(inbound::write(&model, Dialect::Toml)));
    }
    let outbound_json = validator(|defs| outbound::schema(Dialect::Json, defs));
    let outbound_toml = validator(|defs| outbound::schema(Dialect::Toml, defs));
    for json in outbounds().into_iter().chain(streams()) {
        assert_valid(&outbound_json, &json);
        let model = read(Dialect::Json, &tree(&json), outbound::read).0.unwrap();
        assert_valid(&outbound_json, &written(outbound::write(&model, Dialect::Json)));
        assert_valid(&outbound_toml, &written(outbound::write(&model, Dialect::Toml)));
    }
}

#[test]
fn the_schemas_know_the_kinds_settings() {
    let toml = validator(|defs| inbound::schema(Dialect::Toml, defs));
    assert!(toml.is_valid(&json!({ "protocol": "socks", "port": 1, "settings": { "udp": true } })));
    assert!(!toml.is_valid(&json!({ "protocol": "http", "port": 1, "settings": { "udp": true } })));
    assert!(!toml.is_valid(&json!({ "protocol": "sock", "port": 1 })));
    let json_schema = validator(|defs| outbound::schema(Dialect::Json, defs));
    assert!(
        json_schema.is_valid(&json!({ "protocol": "VLESS", "settings": null, "mux": null, "streamSettings": null }))
    );
    assert!(!json_schema.is_valid(&json!({ "protocol": "freedom", "settings": { "redirect": 5 } })));
    assert!(!json_schema.is_valid(&json!({ "protocol": "freedm" })));
}

#[test]
fn every_name_that_is_asked_for_is_in_the_schema() {
    for (dialect, json) in
        [Dialect::Json, Dialect::Toml].into_iter().flat_map(|d| inbounds().into_iter().map(move |json| (d, json)))
    {
        let env = |_: &str| None;
        let mut node = tree(&json);
        if dialect == Dialect::Toml {
            let model = read(Dialect::Json, &node, inbound::read).0.unwrap();
            node = plain(inbound::write(&model, Dialect::Toml));
        }
        let mut cx = crate::shape::Reader::new(dialect, &env);
        inbound::read(&mut cx, &node);
        let mut defs = Defs::default();
        let text = format!("{}{:?}", inbound::schema(dialect, &mut defs), defs.map);
        for (path, name) in &cx.asked {
            assert!(text.contains(&format!("\"{name}\"")), "{path}.{name}");
        }
    }
}
