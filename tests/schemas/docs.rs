//! `docs/toml.md`: what stands above the mark is written by hand, the reference below it is made from the schema.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value;

/// Everything below this line is made.
pub const MARK: &str =
    "<!-- Made from the schema by `UPDATE_SCHEMAS=1 cargo test --test schemas`; do not edit below. -->\n";

/// The reference of our TOML.
pub fn reference(schema: &Value) -> String {
    let mut docs = Docs { root: schema, seen: BTreeSet::new(), out: String::new() };
    let tables = schema["properties"].as_object().unwrap();
    let _ = writeln!(docs.out, "| table | meaning |\n|---|---|");
    for (name, shape) in tables {
        let title = title(shape, name);
        let _ = writeln!(docs.out, "| [`{title}`](#{name}) | {} |", docs.doc(shape));
    }
    for (name, shape) in tables {
        let title = title(shape, name);
        let _ = write!(docs.out, "\n<a id=\"{name}\"></a>\n\n## `{title}`\n\n{}\n", docs.doc(shape));
        docs.table(shape, name, title.starts_with("[["));
    }
    docs.out
}

struct Docs<'s> {
    root: &'s Value,
    seen: BTreeSet<String>,
    out: String,
}

impl<'s> Docs<'s> {
    fn resolve(&self, shape: &'s Value) -> (&'s Value, Option<&'s str>) {
        match shape.get("$ref").and_then(Value::as_str) {
            Some(name) => {
                let name = name.trim_start_matches("#/$defs/");
                (&self.root["$defs"][name], Some(name))
            }
            None => (shape, None),
        }
    }

    fn doc(&self, shape: &'s Value) -> String {
        let own = shape["description"].as_str();
        cell(own.unwrap_or_else(|| self.resolve(shape).0["description"].as_str().unwrap_or_default()))
    }

    /// The keys of every object in a shape that is found for the first time, then those of what is in it.
    fn table(&mut self, shape: &'s Value, path: &str, list: bool) {
        let (target, name) = self.resolve(shape);
        if let Some(name) = name {
            if !self.seen.insert(name.to_owned()) {
                return;
            }
            let _ = write!(self.out, "\n<a id=\"record-{name}\"></a>\n");
            if path.contains('.') {
                let title = if list { format!("[[{path}]]") } else { format!("[{path}]") };
                let _ = write!(self.out, "\n### `{title}`\n\n{}\n", self.doc(target));
            }
        }
        self.keys(target, path);
        for part in ["anyOf", "allOf"] {
            for some in target.get(part).and_then(Value::as_array).into_iter().flatten() {
                if some.get("if").is_none() {
                    self.table(some, path, list);
                }
            }
        }
        if let Some(items) = target.get("items") {
            self.table(items, path, true);
        }
        if let Some(free) = target.get("additionalProperties").filter(|s| s.is_object()) {
            self.table(free, &format!("{path}.NAME"), false);
        }
    }

    fn keys(&mut self, target: &'s Value, path: &str) {
        let Some(properties) = target.get("properties").and_then(Value::as_object) else { return };
        let required = target["required"].as_array();
        let needs = |key: &str| required.is_some_and(|keys| keys.iter().any(|k| k == key));
        // An object without a name is one of several kinds; its word says which.
        let kind = properties.get("type").and_then(|t| t["enum"][0].as_str());
        if let Some(word) = kind.filter(|_| properties.contains_key("settings")) {
            let _ = write!(self.out, "\nWith `type = \"{word}\"`, settings are:\n");
        } else if !properties.is_empty() {
            let _ = writeln!(self.out, "\n| key | type | default | meaning |\n|---|---|---|---|");
            for (key, shape) in properties {
                let default = match shape.get("default") {
                    _ if needs(key) => "required".to_owned(),
                    // A table's own keys tell theirs.
                    Some(Value::Object(_)) | None => String::new(),
                    Some(default) => format!("`{}`", cell(&toml(default))),
                };
                let kind = cell(&self.kind(shape));
                let _ = writeln!(self.out, "| `{key}` | {kind} | {default} | {} |", self.doc(shape));
            }
        } else {
            let _ = write!(self.out, "\nIt has no keys.\n");
        }
        for (key, shape) in properties {
            self.table(shape, &format!("{path}.{key}"), false);
        }
        for branch in target.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            let Some(condition) = branch["if"]["properties"].as_object().and_then(|p| p.iter().next()) else {
                continue;
            };
            let words = condition.1["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let words = words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
            for (key, shape) in branch["then"]["properties"].as_object().into_iter().flatten() {
                let (target, name) = self.resolve(shape);
                let doc = self.doc(target);
                let bracket =
                    if target.get("items").is_some() { format!("[[{path}.{key}]]") } else { format!("[{path}.{key}]") };
                let _ = write!(self.out, "\n### `{bracket}` where `{}` is {words}\n\n{doc}\n", condition.0);
                match name {
                    // Its keys were told elsewhere.
                    Some(name) if self.seen.contains(name) => {
                        let _ = write!(self.out, "\nThe keys are [those above](#record-{name}).\n");
                    }
                    Some(name) => {
                        self.seen.insert(name.to_owned());
                        let _ = write!(self.out, "\n<a id=\"record-{name}\"></a>\n");
                        self.keys(target, &format!("{path}.{key}"));
                    }
                    None => match target.get("items") {
                        Some(items) => self.keys(items, &format!("{path}.{key}")),
                        None => self.keys(target, &format!("{path}.{key}")),
                    },
                }
            }
        }
    }

    fn kind(&self, shape: &Value) -> String {
        if let Some(name) = shape.get("$ref").and_then(Value::as_str) {
            return format!("[table](#record-{})", name.trim_start_matches("#/$defs/"));
        }
        if let Some(words) = shape.get("enum").and_then(Value::as_array) {
            let words = words.iter().filter_map(Value::as_str).map(|w| format!("`{w}`"));
            return words.collect::<Vec<_>>().join(", ");
        }
        if let Some(some) = shape.get("anyOf").and_then(Value::as_array) {
            let mut kinds: Vec<String> = some.iter().map(|s| self.kind(s)).collect();
            kinds.dedup();
            return kinds.join(" or ");
        }
        let one = |word: &str| match word {
            "array" => match shape.get("items") {
                Some(items) => format!("list of {}", self.kind(items)),
                None => "list".to_owned(),
            },
            "object" => match shape.get("additionalProperties").filter(|s| s.is_object()) {
                Some(free) => format!("table of {}", self.kind(free)),
                None => "table".to_owned(),
            },
            word => word.to_owned(),
        };
        let kind = match &shape["type"] {
            Value::String(word) => one(word),
            Value::Array(words) => words.iter().filter_map(Value::as_str).map(one).collect::<Vec<_>>().join(" or "),
            _ => "table".to_owned(),
        };
        if shape["x-secret"] == true { format!("{kind}, secret") } else { kind }
    }
}

fn title(shape: &Value, name: &str) -> String {
    if shape.get("items").is_some() || shape.get("anyOf").is_some() {
        format!("[[{name}]]")
    } else {
        format!("[{name}]")
    }
}

/// A default as it stands in a file.
fn toml(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| format!("{key} = {}", toml(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
