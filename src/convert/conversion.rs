//! Texts in, one text out, and the check that both mean the same.

use super::compare;
use super::keys::{self, KeyReport};
use super::notes;
use crate::frontend::{
    self, Change, Loaded, Note, Source, Sources, emit_toml, find_secrets, schema, settle, toml, xray,
};
use crate::model::check::link;
use crate::model::draft::Draft;
use crate::shape::{Class, Dialect, Kind, Node, Plain, PlainMap, Problem, Severity, Span};

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// Our own format.
    Toml,
    /// The JSON of today's Xray.
    Json,
}

impl To {
    /// The word for it, which is also the ending of its files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Toml => "toml",
            Self::Json => "json",
        }
    }

    fn dialect(self) -> Dialect {
        match self {
            Self::Toml => Dialect::Toml,
            Self::Json => Dialect::Json,
        }
    }
}

/// How to convert.
pub struct Options<'e> {
    /// What is written.
    pub to: To,
    /// Looks up an environment variable by its exact name.
    pub env: &'e dyn Fn(&str) -> Option<String>,
}

/// Why there is no output.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The input does not load; the findings say why.
    #[error("the input is not a valid configuration")]
    Input,
    /// What was written does not load. A mistake of this program.
    #[error("internal error: what was written does not load ({0}); nothing is written, please report this")]
    Unreadable(String),
    /// What was written means something else. A mistake of this program.
    #[error("internal error: {0} would not mean the same in the output; nothing is written, please report this")]
    Different(String),
}

/// What came of a conversion.
pub struct Converted {
    /// The output.
    pub text: Result<String, Failure>,
    /// What became of every key.
    pub keys: Vec<KeyReport>,
    /// What was found wrong with the input, without what only running would need.
    pub problems: Vec<Problem>,
    /// The input's texts.
    pub sources: Sources,
    /// Whether the output holds passwords, keys or ids.
    pub secret: bool,
}

/// Converts a configuration; several texts are merged first.
#[must_use]
pub fn convert(sources: Vec<Source>, options: &Options<'_>) -> Converted {
    let mut loaded = load(sources, options);
    let _ = loaded.link();
    loaded.tell(schema::violations(&loaded));
    // What only running would need is no matter of converting.
    loaded.problems.retain(|p| !matches!(p.kind, Kind::NotBuilt | Kind::Skipped));
    let Some(mut draft) = loaded.draft.take() else {
        let keys = keys::classify(&loaded, &[]);
        let Loaded { problems, sources, .. } = loaded;
        return Converted { text: Err(Failure::Input), keys, problems, sources, secret: false };
    };
    let changes = prepare(&mut draft, loaded.dialect, options.to);
    let keys = keys::classify(&loaded, &changes);
    let text = if loaded.failed() { Err(Failure::Input) } else { written(&draft, &loaded, &keys, options) };
    let secret = text.as_ref().is_ok_and(|text| {
        let text = frontend::Text::new(0, "", text.as_str());
        !find_secrets(&text).is_empty()
    });
    Converted { text, keys, problems: loaded.problems, sources: loaded.sources, secret }
}

fn load(sources: Vec<Source>, options: &Options<'_>) -> Loaded {
    frontend::load(sources, &frontend::Options { strict: false, env: options.env })
}

/// Says in the draft what the output's format cannot say otherwise.
fn prepare(draft: &mut Draft, from: Dialect, to: To) -> Vec<Change> {
    let mut changes = vec![];
    if to == To::Json {
        changes.extend(xray::write::prepare(draft));
    }
    if from == Dialect::Json || to == To::Json {
        changes.extend(settle(draft));
    }
    changes
}

/// The output's text, if it loads and means the same.
fn written(draft: &Draft, loaded: &Loaded, keys: &[KeyReport], options: &Options<'_>) -> Result<String, Failure> {
    let text = match options.to {
        To::Toml => {
            let mut output = toml::root::write(draft);
            for file in &loaded.sources.files {
                if let Some(tree) = file.tree() {
                    place_sections(&mut output, tree);
                }
            }
            let mut all = head(keys);
            all.extend(loaded.sources.files.iter().flat_map(|file| notes::notes(file, &output)));
            emit_toml(&output, &all)
        }
        To::Json => json(&xray::write::write(draft)),
    };
    check(draft, &text, options)?;
    Ok(text)
}

/// Loads the output and compares.
fn check(draft: &Draft, text: &str, options: &Options<'_>) -> Result<(), Failure> {
    let source = Source {
        name: format!("output.{}", options.to.word()),
        bytes: text.as_bytes().to_vec(),
        format: frontend::Format::of_word(options.to.word()),
    };
    let mut again = load(vec![source], options);
    let first = |problems: &[Problem]| {
        let error = problems.iter().find(|p| p.severity == Severity::Error);
        error.map(|p| if p.path.is_empty() { p.message.clone() } else { format!("{}: {}", p.path, p.message) })
    };
    let Some(mut back) = again.draft.take() else {
        return Err(Failure::Unreadable(first(&again.problems).unwrap_or_default()));
    };
    if options.to == To::Json {
        settle(&mut back);
    }
    if let Some(item) = compare::difference(draft, &back) {
        return Err(Failure::Different(item));
    }
    match first(&link(&back, options.to.dialect()).problems) {
        Some(error) => Err(Failure::Unreadable(error)),
        None => Ok(()),
    }
}

/// JSON text with two blanks a level, as people write it.
#[must_use]
fn json(map: &PlainMap) -> String {
    let value = serde_json::Value::from(&Plain::Map(map.clone()));
    // Maps have text keys only, so there is nothing that could fail.
    let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
    text.push('\n');
    text
}

/// Sections of the root and their names in the output.
const SECTIONS: &[(&str, &str)] = &[
    ("log", "log"),
    ("routing", "route"),
    ("route", "route"),
    ("dns", "dns"),
    ("fakedns", "fake_dns"),
    ("fake_dns", "fake_dns"),
    ("policy", "policy"),
    ("api", "api"),
    ("metrics", "metrics"),
    ("stats", "stats"),
    ("observatory", "observatory"),
    ("burstobservatory", "burst_observatory"),
    ("burst_observatory", "burst_observatory"),
    ("control", "control"),
    ("reload", "reload"),
    ("version", "version"),
    ("geodata", "geodata"),
    ("reverse", "reverse"),
    ("env", "env"),
];

/// Gives the sections their places, which a draft does not keep.
fn place_sections(output: &mut PlainMap, tree: &Node) {
    for entry in tree.map().unwrap_or_default() {
        let name = entry.key.to_lowercase();
        let Some((_, ours)) = SECTIONS.iter().find(|(theirs, _)| *theirs == name) else { continue };
        let slot = output.entries.iter_mut().find(|(key, _)| key == ours);
        place(slot.map(|(_, value)| value), &entry.node);
    }
}

fn place(slot: Option<&mut Plain>, node: &Node) {
    match (slot, node.list()) {
        (Some(Plain::List(items)), Some(nodes)) => {
            for (item, node) in items.iter_mut().zip(nodes) {
                place(Some(item), node);
            }
        }
        (Some(Plain::List(items)), None) => place(items.first_mut(), node),
        (Some(Plain::Map(map)), _) => map.from = Some(node.span),
        _ => {}
    }
}

/// What is shown of losses at the head of the output.
const SHOWN: usize = 40;

/// The head of the output tells what it says less than the input.
fn head(keys: &[KeyReport]) -> Vec<Note> {
    let lost = keys::decided(keys.iter().filter(|key| key.lost()));
    if lost.is_empty() {
        return vec![];
    }
    let mut lines = vec!["Not the same as in the file this was converted from:".to_owned()];
    for key in lost.iter().take(SHOWN) {
        let why = if key.why.is_empty() { keys::usual(key.class) } else { &key.why };
        lines.push(format!("- {} ({}): {why}", key.decided, keys::word(key.class)));
    }
    if lost.len() > SHOWN {
        lines.push(format!("- and {} more", lost.len() - SHOWN));
    }
    // The text of a key is the user's: a line break in it must not end the comment.
    let text = lines.iter().map(|line| line.replace(['\n', '\r'], " ")).collect::<Vec<_>>().join("\n");
    vec![Note { item: None::<Span>, above: true, text }]
}

/// The classes that `--strict` refuses.
#[must_use]
pub fn losses(converted: &Converted) -> usize {
    converted.keys.iter().filter(|key| key.lost() || key.class == Class::Invalid).count()
}
