//! Small instances of a schema that together hold every key it knows, each in as little company as possible.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Makes instances of one schema.
pub struct Samples<'s> {
    root: &'s Value,
}

/// A key of a schema: the path of its table (list places as `[]`), and its name.
pub type Known = BTreeSet<(String, String)>;

impl<'s> Samples<'s> {
    pub fn of(root: &'s Value) -> Self {
        Self { root }
    }

    /// Instances that hold every key, one after the other.
    pub fn all(&self) -> Vec<Value> {
        self.variants(self.root, &mut vec![])
    }

    /// Every key; a record within itself is opened `depth` times.
    pub fn known(&self, depth: usize) -> Known {
        let mut known = Known::new();
        self.keys(self.root, "", depth, &mut vec![], &mut known);
        known
    }

    /// Old spellings of the lists of inbounds and outbounds: what is in them is the same. (Ours has the same words.)
    fn is_old(&self, key: &str) -> bool {
        let old = ["inbound", "outbound", "inboundDetour", "outboundDetour"];
        old.contains(&key) && self.root["properties"].get("inbounds").is_some()
    }

    fn resolve(&self, schema: &'s Value) -> (&'s Value, Option<&'s str>) {
        match schema.get("$ref").and_then(Value::as_str) {
            Some(name) => {
                let short = name.trim_start_matches("#/$defs/");
                (&self.root["$defs"][short], Some(short))
            }
            None => (schema, None),
        }
    }

    /// `above` are the records around, so that one that holds itself ends.
    fn variants(&self, schema: &'s Value, above: &mut Vec<&'s str>) -> Vec<Value> {
        let (schema, name) = self.resolve(schema);
        if let Some(name) = name {
            if above.contains(&name) {
                return vec![json!({})];
            }
            above.push(name);
        }
        let out = self.variants_of(schema, above);
        if name.is_some() {
            above.pop();
        }
        out
    }

    fn variants_of(&self, schema: &'s Value, above: &mut Vec<&'s str>) -> Vec<Value> {
        let some = schema.get("anyOf").and_then(Value::as_array);
        let some = some.into_iter().flatten().filter(|s| s.get("type") != Some(&json!("null")));
        let mut out: Vec<Value> = some.flat_map(|s| self.variants(s, above)).collect();
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            out.extend(words.first().cloned());
        }
        let mut kinds = types(schema);
        if kinds.is_empty() && schema.get("properties").is_some() {
            kinds.push("object");
        }
        for kind in kinds {
            match kind {
                "object" => out.extend(self.objects(schema, above)),
                "array" => {
                    let items = schema.get("items").map(|items| self.variants(items, above)).unwrap_or_default();
                    out.extend(items.into_iter().map(|item| json!([item])));
                }
                "string" if schema.get("enum").is_none() => out.push(json!("1s")),
                "integer" => out.push(json!(1)),
                "number" => out.push(json!(0.5)),
                "boolean" => out.push(json!(true)),
                _ => {}
            }
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            if part.get("if").is_none() {
                out.extend(self.variants(part, above));
            }
        }
        out.retain(|value| !value.is_null());
        if out.is_empty() {
            out.push(json!({}));
        }
        out
    }

    fn objects(&self, schema: &'s Value, above: &mut Vec<&'s str>) -> Vec<Value> {
        let mut out = vec![];
        let mut base = Map::new();
        for key in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            let key = key.as_str().unwrap();
            base.insert(key.to_owned(), self.variants(&schema["properties"][key], above).swap_remove(0));
        }
        let branches: Vec<_> = branches(schema).collect();
        if let Some((word_key, word, _)) = branches.first() {
            base.insert((*word_key).to_owned(), json!(word));
        }
        for (key, property) in properties(schema).filter(|(key, _)| !self.is_old(key)) {
            for value in self.variants(property, above) {
                let mut object = base.clone();
                if !branches.iter().any(|(word_key, _, _)| word_key == key) {
                    object.insert(key.clone(), value);
                }
                // Settings of a word beside them, which the schema does not ask for.
                let company = COMPANY
                    .iter()
                    .filter(|(name, beside, _)| *name == key && schema["properties"].get(beside).is_some());
                for (_, beside, word) in company {
                    object.insert((*beside).to_owned(), json!(word));
                }
                out.push(object.into());
            }
        }
        for (word_key, word, then) in branches {
            for (key, property) in properties(then) {
                for value in self.variants(property, above) {
                    let mut object = base.clone();
                    object.insert(word_key.to_owned(), json!(word));
                    object.insert(key.clone(), value);
                    out.push(object.into());
                }
            }
        }
        if let Some(free) = schema.get("additionalProperties").filter(|s| s.is_object()) {
            out.extend(self.variants(free, above).into_iter().map(|value| json!({ "1": value })));
        }
        if out.is_empty() {
            out.push(base.into());
        }
        out
    }

    fn keys(&self, schema: &'s Value, path: &str, depth: usize, above: &mut Vec<&'s str>, known: &mut Known) {
        let (schema, name) = self.resolve(schema);
        if let Some(name) = name {
            if above.iter().filter(|around| **around == name).count() >= depth {
                return;
            }
            above.push(name);
        }
        let under = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let tables = std::iter::once(schema).chain(branches(schema).map(|(_, _, then)| then));
        for (key, property) in tables.flat_map(properties) {
            known.insert((path.to_owned(), key.clone()));
            if path.is_empty() && self.is_old(key) {
                continue;
            }
            self.keys(property, &under(key), depth, above, known);
        }
        for some in ["anyOf", "allOf"] {
            for part in schema.get(some).and_then(Value::as_array).into_iter().flatten() {
                self.keys(part, path, depth, above, known);
            }
        }
        if let Some(items) = schema.get("items") {
            self.keys(items, &format!("{path}[]"), depth, above, known);
        }
        if let Some(free) = schema.get("additionalProperties").filter(|s| s.is_object()) {
            self.keys(free, &under("1"), depth, above, known);
        }
        if name.is_some() {
            above.pop();
        }
    }
}

/// Tables that are read only beside a word: table, key of the word, word.
const COMPANY: &[(&str, &str, &str)] = &[
    ("optimalSettings", "strategy", "optimal"),
    ("rawSettings", "network", "raw"),
    ("tcpSettings", "network", "tcp"),
    ("wsSettings", "network", "ws"),
    ("httpupgradeSettings", "network", "httpupgrade"),
    ("grpcSettings", "network", "grpc"),
    ("gunSettings", "network", "gun"),
    ("xhttpSettings", "network", "xhttp"),
    ("splithttpSettings", "network", "splithttp"),
    ("kcpSettings", "network", "kcp"),
    ("hysteriaSettings", "network", "hysteria"),
    ("httpSettings", "network", "http"),
    ("quicSettings", "network", "quic"),
    ("dsSettings", "network", "ds"),
    ("tlsSettings", "security", "tls"),
    ("realitySettings", "security", "reality"),
    ("xtlsSettings", "security", "xtls"),
    ("limitFallbackUpload", "target", "a.example:1"),
    ("limitFallbackDownload", "target", "a.example:1"),
    ("limit_fallback_upload", "target", "a.example:1"),
    ("limit_fallback_download", "target", "a.example:1"),
    ("reverse", "address", "a.example"),
    ("reverse", "port", "1"),
    ("reverse", "id", "11111111-2222-3333-4444-555555555555"),
    ("reverse", "server", "a.example"),
    ("tcp", "network", "tcp"),
    ("ws", "network", "ws"),
    ("httpupgrade", "network", "httpupgrade"),
    ("grpc", "network", "grpc"),
    ("xhttp", "network", "xhttp"),
    ("kcp", "network", "kcp"),
    ("hysteria", "network", "hysteria"),
    ("http", "network", "http"),
    ("quic", "network", "quic"),
    ("domainsocket", "network", "domainsocket"),
    ("download", "network", "xhttp"),
    ("tls", "security", "tls"),
    ("reality", "security", "reality"),
    ("xtls", "security", "xtls"),
];

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(word)) => vec![word],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

/// `if` a key has a word, `then` a schema holds: key, word, schema.
pub fn branches(schema: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    schema.get("allOf").and_then(Value::as_array).into_iter().flatten().filter_map(|part| {
        let (key, condition) = part.get("if")?.get("properties")?.as_object()?.iter().next()?;
        let words = condition.get("examples").or_else(|| condition.get("enum"))?.as_array()?;
        Some((key.as_str(), words.first()?.as_str()?, part.get("then")?))
    })
}
