//! Named texts become one draft, or every reason why not.
//!
//! Nothing is fetched here: whoever calls has read the files. Several files of Xray's schema are merged as Xray merges
//! them; our own TOML is one file, because it has no rule for two.

use super::format::Format;
use super::merge::Envelope;
use super::parse::parse;
use super::report;
use super::sources::{File, Sources};
use super::text::{Parsed, Text, decode};
use super::{secrets, toml, xray};
use crate::model::check;
use crate::model::config::Config;
use crate::model::draft::Draft;
use crate::shape::{Dialect, Kind, Mark, Node, Problem, Reader, Severity, Span};

/// A file that was read by somebody else.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its name as the user gave it.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its format, if the user said so.
    pub format: Option<Format>,
}

/// How to load.
pub struct Options<'e> {
    /// Keys that nobody knows are errors in Xray's schema too.
    pub strict: bool,
    /// Looks up an environment variable by its exact name; `env:NAME` and `XRAY_JSON_STRICT` are asked for.
    pub env: &'e dyn Fn(&str) -> Option<String>,
}

/// What came of it.
pub struct Loaded {
    /// The draft; none if there is an error.
    pub draft: Option<Draft>,
    /// Everything found, in the order of files and places.
    pub problems: Vec<Problem>,
    /// What became of every key.
    pub marks: Vec<Mark>,
    /// Every key name asked for, with the path of its table (list places as `[]`); schemas are checked against it.
    /// Empty unless loaded by [`load_watched`].
    pub asked: Vec<(String, &'static str)>,
    /// The texts, for reports and for convert, with their comments.
    pub sources: Sources,
    /// Format of the first file.
    pub format: Format,
    /// Whose schema was read.
    pub dialect: Dialect,
}

impl Loaded {
    /// Whether any finding is an error.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.problems.iter().any(|p| p.severity == Severity::Error)
    }

    /// Links the draft; what that finds is put among the problems, in order of place.
    pub fn link(&mut self) -> Option<Config> {
        let checked = check::link(self.draft.as_ref()?, self.dialect);
        self.tell(checked.problems);
        checked.config
    }

    /// Adds findings of others to the report; secrets stay out of it.
    pub fn tell(&mut self, more: Vec<Problem>) {
        self.problems.extend(more);
        report::sort(&mut self.problems);
        hide(&mut self.sources);
        report::scrub(&self.sources, &mut self.problems);
    }

    /// The first error, for the last line of a failed start, and how many more there are.
    #[must_use]
    pub fn first_error(&self) -> Option<(&Problem, usize)> {
        let mut errors = self.problems.iter().filter(|p| p.severity == Severity::Error);
        errors.next().map(|first| (first, errors.count()))
    }
}

fn failing(problems: &[Problem]) -> bool {
    problems.iter().any(|p| p.severity == Severity::Error)
}

/// What linking finds in a draft that has holes, so that one run tells everything. Where an outbound or a balancer could not
/// be read, names that seem to mean nothing may mean that one, and are left for the next run.
fn despite(draft: &Draft, dialect: Dialect, problems: &[Problem]) -> Vec<Problem> {
    let named = |path: &str| ["outbound", "balancer", "routing.balancers"].iter().any(|head| path.starts_with(head));
    let holes = problems.iter().any(|p| p.severity == Severity::Error && named(&p.path));
    let grave = |p: &Problem| p.severity == Severity::Error || p.kind == Kind::Reference;
    let sure = |p: &Problem| grave(p) && !(holes && p.kind == Kind::Reference);
    check::link(draft, dialect).problems.into_iter().filter(sure).collect()
}

/// Loads a configuration.
#[must_use]
pub fn load(sources: Vec<Source>, options: &Options<'_>) -> Loaded {
    run(sources, options, false)
}

/// The same, and keeps every key name asked for in [`Loaded::asked`].
#[must_use]
pub fn load_watched(sources: Vec<Source>, options: &Options<'_>) -> Loaded {
    run(sources, options, true)
}

fn run(sources: Vec<Source>, options: &Options<'_>, watched: bool) -> Loaded {
    let mut loading = Loading { options, watched, sources: Sources::default(), problems: vec![], roots: vec![] };
    let mut format = Format::Json;
    for (n, source) in sources.into_iter().enumerate() {
        let found = loading.file(n, source);
        if n == 0 {
            format = found;
        }
    }
    loading.finish(format)
}

/// A file's tree, by whose schema it is to be read.
struct Root {
    node: Node,
    dialect: Dialect,
}

struct Loading<'o> {
    options: &'o Options<'o>,
    watched: bool,
    sources: Sources,
    problems: Vec<Problem>,
    roots: Vec<Root>,
}

impl Loading<'_> {
    /// Reads one file into the lists; returns its format.
    fn file(&mut self, n: usize, source: Source) -> Format {
        let number = u16::try_from(n).unwrap_or(u16::MAX);
        let named = source.format.or_else(|| Format::of_name(&source.name));
        let strict = self.json_strict() && matches!(named, None | Some(Format::Json));
        let (text, problems, readable) = if named == Some(Format::Protobuf) {
            let text = Text::new(number, &source.name, "");
            let problem = protobuf(&text);
            (text, vec![problem], false)
        } else {
            decode(number, &source.name, &source.bytes, strict)
        };
        drop(source.bytes);
        self.problems.extend(problems);
        let format = named.unwrap_or_else(|| Format::of_text(&text.body));
        let parsed = if readable { parse(&text, format, strict) } else { Parsed::default() };
        self.problems.extend(parsed.problems);
        let dialect = parsed.root.as_ref().map_or(Dialect::Json, |root| dialect(format, root));
        if format == Format::Toml && dialect == Dialect::Json && parsed.root.is_some() {
            let message = "this TOML has the keys of Xray's schema and is read as such";
            self.problems.push(text.problem(Severity::Note, Kind::Legacy, text.span(0, 0), message));
        }
        if let Some(node) = parsed.root {
            self.roots.push(Root { node, dialect });
        }
        self.sources.files.push(File::new(text, format, strict, parsed.comments));
        format
    }

    /// Xray's switch for JSON without comments.
    fn json_strict(&self) -> bool {
        let set = |name| (self.options.env)(name).is_some_and(|value| value == "true");
        set("xray.json.strict") || set("XRAY_JSON_STRICT")
    }

    fn finish(mut self, format: Format) -> Loaded {
        let dialect = self
            .roots
            .first()
            .map_or(if format == Format::Toml { Dialect::Toml } else { Dialect::Json }, |r| r.dialect);
        let mut reader = Reader::new(dialect, self.options.env);
        reader.watched = self.watched;
        let whole = !self.sources.files.is_empty() && self.roots.len() == self.sources.files.len();
        let mut draft = None;
        if self.sources.files.is_empty() {
            self.problems.push(placeless("there is no configuration to read"));
        } else if let Some(odd) = self.roots.iter().skip(1).find(|r| r.dialect != dialect || dialect == Dialect::Toml) {
            let problem =
                unmergeable(&self.sources, self.roots.first().map_or_else(Span::default, |r| r.node.span), odd);
            self.problems.push(problem);
        } else if whole {
            let roots = std::mem::take(&mut self.roots);
            draft = match dialect {
                Dialect::Json => self.read_xray(&mut reader, roots),
                Dialect::Toml => roots.first().and_then(|root| toml::root::read(&mut reader, &root.node)),
            };
        }
        let mut problems = self.problems;
        problems.append(&mut reader.problems);
        quote_words(&self.sources, &mut problems);
        if let Some(draft) = draft.as_ref().filter(|_| failing(&problems)) {
            let more = despite(draft, dialect, &problems);
            problems.extend(more);
        }
        if self.options.strict {
            for problem in problems.iter_mut().filter(|p| p.kind == Kind::Unknown) {
                problem.severity = Severity::Error;
            }
        }
        let mut sources = self.sources;
        sources.hide(std::mem::take(&mut reader.secrets));
        sources.show(std::mem::take(&mut reader.shown));
        if !problems.is_empty() {
            hide(&mut sources);
            report::sort(&mut problems);
            report::scrub(&sources, &mut problems);
        }
        let failed = failing(&problems);
        Loaded {
            draft: draft.filter(|_| !failed),
            problems,
            marks: reader.marks,
            asked: reader.asked,
            sources,
            format,
            dialect,
        }
    }

    fn read_xray(&self, cx: &mut Reader<'_>, roots: Vec<Root>) -> Option<Draft> {
        let names: Vec<String> = self.sources.files.iter().map(|file| file.text.name.clone()).collect();
        let mut all: Option<Envelope> = None;
        for root in roots {
            let envelope = Envelope::open(cx, root.node);
            match &mut all {
                Some(all) => all.put(cx, envelope, &names),
                None => all = Some(envelope),
            }
        }
        all.map(|envelope| xray::root::read(cx, envelope))
    }
}

/// YAML takes bare words such as `y`, `no` and `off` for booleans; who wrote one for a text must be told of quotes.
fn quote_words(sources: &Sources, problems: &mut [Problem]) {
    for problem in problems.iter_mut().filter(|p| p.message.starts_with("invalid type: boolean")) {
        let text = problem.span.and_then(|span| Some((span, &sources.file(span)?.text)));
        let Some((span, text)) = text.filter(|(_, text)| Format::of_name(&text.name) == Some(Format::Yaml)) else {
            continue;
        };
        let word = text.body.get(span.start as usize..span.end as usize).unwrap_or_default();
        problem
            .help
            .get_or_insert_with(|| format!("a bare `{word}` is a boolean in YAML; for a text write \"{word}\""));
    }
}

/// Hides what is secret by the names of keys; only reports need it, so it is not done before there is something to say.
fn hide(sources: &mut Sources) {
    let found: Vec<Span> = sources.files.iter().flat_map(|file| secrets::find(&file.text)).collect();
    sources.hide(found);
}

/// Roots of Xray's schema that ours lacks, and the other way round.
const XRAYS: &[&str] = &["inbounds", "outbounds", "inboundDetour", "outboundDetour", "routing"];
const OURS: &[&str] = &["inbound", "outbound", "balancer", "route"];

/// Whose schema a file follows.
fn dialect(format: Format, root: &Node) -> Dialect {
    let has = |names: &[&str], list: bool| {
        let entries = root.map().unwrap_or_default();
        entries
            .iter()
            .any(|e| names.contains(&e.key.as_str()) && (!list || e.node.list().is_some() || e.key == "route"))
    };
    if format == Format::Toml && (has(OURS, true) || !has(XRAYS, false)) { Dialect::Toml } else { Dialect::Json }
}

fn protobuf(text: &Text) -> Problem {
    let message = "protobuf configurations are not read";
    text.problem(Severity::Error, Kind::Source, text.span(0, 0), message).help("use the JSON that it was made from")
}

fn unmergeable(sources: &Sources, first: Span, odd: &Root) -> Problem {
    let name = |span: Span| sources.file(span).map_or("", |file| file.text.name.as_str());
    let message = if odd.dialect == Dialect::Toml {
        format!("{} is our own TOML, which is one file: it cannot be merged with {}", name(odd.node.span), name(first))
    } else {
        format!("{} follows Xray's schema: it cannot be merged with {}", name(odd.node.span), name(first))
    };
    let mut problem = placeless(&message);
    problem.help = Some("`etemenanki convert FILE…` merges files of Xray's schema into one TOML".into());
    problem
}

/// A finding about a whole file.
fn placeless(message: &str) -> Problem {
    let (severity, kind) = (Severity::Error, Kind::Source);
    Problem { severity, kind, span: None, path: String::new(), message: message.into(), help: None }
}

#[cfg(test)]
mod tests;
