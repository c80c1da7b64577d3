//! A closed set of kinds, each a word and a settings record: protocols, carriers, masks.

use serde_json::Value as Json;

use crate::addr::Host;
use crate::model::fields::Port;
use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, PlainMap, Raw, Reader, Record, Value, nearest};

/// What our TOML has on the outbound itself, and Xray's JSON inside the settings. Whoever uses a part takes it out.
#[derive(Debug, Default)]
pub struct Ends {
    /// `server`.
    pub server: Option<Host>,
    /// `port`.
    pub port: Option<Port>,
    /// `[[servers]]`.
    pub servers: Option<Raw>,
}

/// The settings of one kind.
pub trait Part: Sized {
    /// Reads `settings`.
    fn read_part(cx: &mut Reader<'_>, node: &Node, ends: &mut Ends) -> Option<Self>;
    /// Writes `settings`; what TOML keeps on the outbound itself goes to `outer`.
    fn write_part(&self, dialect: Dialect, outer: &mut PlainMap) -> PlainMap;
    /// The schema of `settings`.
    fn shape_part(dialect: Dialect, defs: &mut Defs) -> Json;
}

impl<T: Record + Field> Part for T {
    fn read_part(cx: &mut Reader<'_>, node: &Node, _: &mut Ends) -> Option<Self> {
        T::read(cx, node)
    }

    fn write_part(&self, dialect: Dialect, _: &mut PlainMap) -> PlainMap {
        match self.write(dialect) {
            Plain::Map(map) => map,
            _ => PlainMap::default(),
        }
    }

    fn shape_part(dialect: Dialect, defs: &mut Defs) -> Json {
        T::schema(dialect, defs)
    }
}

/// An empty object at the place of one that is absent, so that what is missing in it has a place.
#[must_use]
pub fn or_empty(raw: &Raw, around: &Node) -> Node {
    if raw.0.is_null() { Node { value: Value::Map(vec![]), span: around.span } } else { raw.0.clone() }
}

/// The words of a kind in both dialects.
pub type Words = (&'static [&'static str], &'static [&'static str]);

/// Finds the kind a word means: JSON in any letter case, TOML exactly.
pub fn find_word(cx: &mut Reader<'_>, node: &Node, rows: &[Words]) -> Option<usize> {
    let Some(text) = node.text() else {
        return cx.wrong_type(node, "a string");
    };
    let json = cx.json();
    let words = |row: &Words| if json { row.1 } else { row.0 };
    let at = rows
        .iter()
        .position(|row| words(row).iter().any(|w| if json { w.eq_ignore_ascii_case(text.trim()) } else { *w == text }));
    if at.is_none() {
        let names: Vec<&str> = rows.iter().map(|row| words(row)[0]).collect();
        let list = names.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ");
        let help = nearest(text, rows.iter().flat_map(|row| words(row).iter().copied()));
        cx.error(node, Kind::Value, format!("unknown variant `{text}`, expected one of {list}")).help =
            help.map(|w| format!("did you mean `{w}`?"));
    }
    at
}

/// Declares such a set: `Variant(Settings) = "toml word" | "alias" => "json word" | "alias";`.
macro_rules! kinds {
    (
        $(#[doc = $edoc:literal])*
        pub enum $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $variant:ident($ty:ty) = $toml:literal $(| $toml2:literal)* => $json:literal $(| $json2:literal)* ;
            )*
        }
    ) => {
        $(#[doc = $edoc])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(clippy::large_enum_variant, reason = "a config has a handful of them; boxes would only be in the way")]
        pub enum $name {
            $( $(#[doc = $doc])* $variant($ty), )*
        }

        impl $name {
            /// The words of each kind.
            pub const WORDS: &'static [$crate::model::kinds::Words] =
                &[$( (&[$toml $(, $toml2)*], &[$json $(, $json2)*]), )*];

            /// The word to write.
            #[must_use]
            pub fn word(&self, dialect: $crate::shape::Dialect) -> &'static str {
                match self {
                    $( Self::$variant(_) => match dialect {
                        $crate::shape::Dialect::Json => $json,
                        $crate::shape::Dialect::Toml => $toml,
                    }, )*
                }
            }

            /// Reads the settings of the kind at a place of [`Self::WORDS`].
            pub fn read_nth(
                cx: &mut $crate::shape::Reader<'_>,
                at: usize,
                node: &$crate::shape::Node,
                ends: &mut $crate::model::kinds::Ends,
            ) -> Option<Self> {
                type Read<T> = fn(&mut $crate::shape::Reader<'_>, &$crate::shape::Node, &mut $crate::model::kinds::Ends) -> Option<T>;
                const READ: &[Read<$name>] = &[$(
                    |cx, node, ends| <$ty as $crate::model::kinds::Part>::read_part(cx, node, ends).map($name::$variant),
                )*];
                READ.get(at).and_then(|read| read(cx, node, ends))
            }

            /// Writes the settings; see [`Part::write_part`](crate::model::kinds::Part::write_part).
            pub fn write_settings(
                &self,
                dialect: $crate::shape::Dialect,
                outer: &mut $crate::shape::PlainMap,
            ) -> $crate::shape::PlainMap {
                match self {
                    $( Self::$variant(settings) => $crate::model::kinds::Part::write_part(settings, dialect, outer), )*
                }
            }

            /// Each kind's words with the schema of its settings.
            #[must_use]
            pub fn shapes(
                dialect: $crate::shape::Dialect,
                defs: &mut $crate::shape::Defs,
            ) -> Vec<(&'static [&'static str], serde_json::Value)> {
                let shapes: Vec<serde_json::Value> =
                    vec![$( <$ty as $crate::model::kinds::Part>::shape_part(dialect, defs), )*];
                let words = Self::WORDS.iter().map(|row| match dialect {
                    $crate::shape::Dialect::Json => row.1,
                    $crate::shape::Dialect::Toml => row.0,
                });
                words.zip(shapes).collect()
            }
        }
    };
}
pub(crate) use kinds;
