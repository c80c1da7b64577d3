//! The two declarations: `record!` for settings structs, `words!` for enumerations.

/// Declares a settings struct.
///
/// ```text
/// record! {
///     /// What it is.
///     pub struct WebSocket {
///         /// Path of the request.
///         path: String = "/".into() => "path";
///         /// Ping interval.
///         heartbeat: Seconds => "heartbeatPeriod";
///         /// No default: must be there.
///         key: Secret<String> => "privateKey" | "key", required;
///     }
///     ignored { "congestion" => "an older key; moved to quicParams" }
///     taken { "seed" => "an older key that the hook reads" }
///     hook WebSocket::settle;
/// }
/// ```
///
/// The field's name is its TOML key; the texts after `=>` are its JSON names, the current one first (none: a key of
/// TOML alone). A field flagged `hidden` is no key at all; the hook fills it. With `stated`
/// in place of `required` JSON must say it and TOML need not. Without `=` the type's own default counts. `hook` names a `fn(&mut Self, &mut Reader, &mut Table)` that runs after the fields were read, to check them together
/// or to take older keys; those stand under `taken`, so that the JSON schema knows them.
#[macro_export]
macro_rules! record {
    (
        $(#[doc = $sdoc:literal])*
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $field:ident : $ty:ty $(= $default:expr)? $(=> $json:literal $(| $alias:literal)*)? $(, $flag:ident)? ;
            )*
        }
        $(ignored { $($dead:literal $(| $dead2:literal)* => $why:literal),* $(,)? })?
        $(taken { $($old:literal $(| $old2:literal)* => $means:literal),* $(,)? })?
        $(hook $hook:path;)?
    ) => {
        $(#[doc = $sdoc])*
        #[derive(Debug, Clone, PartialEq)]
        $vis struct $name {
            $( $(#[doc = $doc])* pub $field: $ty, )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $crate::record!(@default $ty $(, $default)?), )* }
            }
        }

        impl $crate::shape::Record for $name {
            const NAME: &'static str = stringify!($name);

            fn doc() -> String {
                $crate::shape::join_doc(&[$($sdoc),*])
            }

            #[allow(unused_variables, unused_mut, clippy::redundant_clone, reason = "a record may have no keys")]
            fn read_from(cx: &mut $crate::shape::Reader<'_>, table: &mut $crate::shape::Table<'_>) -> Self {
                let base = Self::default();
                $(
                    let $field = $crate::shape::read_key::<$ty>(
                        cx,
                        table,
                        $crate::shape::Key { toml: $crate::record!(@toml $field $(, $flag)?), json: &[$($json $(, $alias)*)?] },
                        $crate::record!(@required (cx.dialect) $($flag)?),
                        &base.$field,
                    )
                    .unwrap_or(base.$field);
                )*
                $($( table.ignore(cx, &[$dead $(, $dead2)*], $why); )*)?
                let mut out = Self { $($field),* };
                $( $hook(&mut out, cx, table); )?
                out
            }

            #[allow(unused_variables, reason = "a record may have no keys")]
            fn write_to(&self, dialect: $crate::shape::Dialect, out: &mut $crate::shape::PlainMap) {
                let base = Self::default();
                $(
                    if $crate::record!(@required (dialect) $($flag)?) || self.$field != base.$field {
                        let key = $crate::shape::Key { toml: $crate::record!(@toml $field $(, $flag)?), json: &[$($json $(, $alias)*)?] };
                        if let Some(name) = key.names(dialect).first() {
                            out.put(name, $crate::shape::Field::write(&self.$field, dialect));
                        }
                    }
                )*
            }

            #[allow(unused_variables, unused_mut, clippy::vec_init_then_push, reason = "a record may have no keys")]
            fn keys(dialect: $crate::shape::Dialect, defs: &mut $crate::shape::Defs) -> Vec<$crate::shape::KeyDoc> {
                let base = Self::default();
                let mut keys = Vec::new();
                $(
                    let required = $crate::record!(@required (dialect) $($flag)?);
                    let key = $crate::shape::Key { toml: $crate::record!(@toml $field $(, $flag)?), json: &[$($json $(, $alias)*)?] };
                    if !key.names(dialect).is_empty() {
                    keys.push($crate::shape::KeyDoc {
                        key: $crate::shape::Key { toml: $crate::record!(@toml $field $(, $flag)?), json: &[$($json $(, $alias)*)?] },
                        doc: $crate::shape::join_doc(&[$($doc),*]),
                        shape: <$ty as $crate::shape::Field>::shape(dialect, defs),
                        default: if required { None } else { Some($crate::shape::Field::write(&base.$field, dialect)) },
                        required,
                        ignored: None,
                    });
                    }
                )*
                $($(
                    keys.push($crate::shape::KeyDoc {
                        key: $crate::shape::Key { toml: "", json: &[$dead $(, $dead2)*] },
                        doc: String::new(),
                        shape: serde_json::json!({}),
                        default: None,
                        required: false,
                        ignored: Some($why),
                    });
                )*)?
                $($(
                    keys.push($crate::shape::KeyDoc {
                        key: $crate::shape::Key { toml: "", json: &[$old $(, $old2)*] },
                        doc: $means.to_owned(),
                        shape: serde_json::json!({}),
                        default: None,
                        required: false,
                        ignored: None,
                    });
                )*)?
                keys
            }
        }

        impl $crate::shape::Field for $name {
            fn read(cx: &mut $crate::shape::Reader<'_>, node: &$crate::shape::Node) -> Option<Self> {
                let mut table = $crate::shape::Table::open(cx, node)?;
                let out = <Self as $crate::shape::Record>::read_from(cx, &mut table);
                table.finish(cx);
                Some(out)
            }

            fn write(&self, dialect: $crate::shape::Dialect) -> $crate::shape::Plain {
                let mut out = $crate::shape::PlainMap::default();
                $crate::shape::Record::write_to(self, dialect, &mut out);
                out.into()
            }

            fn shape(dialect: $crate::shape::Dialect, defs: &mut $crate::shape::Defs) -> serde_json::Value {
                <Self as $crate::shape::Record>::schema(dialect, defs)
            }
        }
    };
    (@default $ty:ty) => { <$ty as Default>::default() };
    (@default $ty:ty, $default:expr) => { $default };
    (@required ($dialect:expr)) => { false };
    (@required ($dialect:expr) required) => { true };
    (@required ($dialect:expr) stated) => { $dialect == $crate::shape::Dialect::Json };
    (@required ($dialect:expr) hidden) => { false };
    (@toml $field:ident) => { stringify!($field) };
    (@toml $field:ident, required) => { stringify!($field) };
    (@toml $field:ident, stated) => { stringify!($field) };
    (@toml $field:ident, hidden) => { "" };
}

/// Declares an enumeration of words. The first variant is the default.
///
/// ```text
/// words! {
///     /// Which family to use.
///     pub enum Family(fold) {
///         /// Either.
///         Any = "any" => "UseIP" | "AsIs";
///         /// IPv4.
///         V4 = "ipv4_only" => "UseIPv4";
///     }
/// }
/// ```
///
/// The text after `=` is the TOML word, matched exactly; those after `=>` are the JSON words (absent: the same word).
/// `fold` matches JSON words in any letter case, `exact` as written. `(fold, else Any)`: an unknown JSON word is taken
/// as `Any`, with a warning, where Xray does the same in silence.
#[macro_export]
macro_rules! words {
    (
        $(#[doc = $edoc:literal])*
        $vis:vis enum $name:ident ($case:ident $(, else $fallback:ident)?) {
            $(#[doc = $fdoc:literal])*
            $first:ident = $ftoml:literal $(=> $fjson:literal $(| $falias:literal)*)? ;
            $(
                $(#[doc = $doc:literal])*
                $variant:ident = $toml:literal $(=> $json:literal $(| $alias:literal)*)? ;
            )*
        }
    ) => {
        $(#[doc = $edoc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        $vis enum $name {
            $(#[doc = $fdoc])*
            #[default]
            $first,
            $( $(#[doc = $doc])* $variant, )*
        }

        impl $name {
            /// Every variant with its TOML word, its JSON words and its meaning.
            const WORDS: &'static [(Self, &'static str, &'static [&'static str], &'static [&'static str])] = &[
                (Self::$first, $ftoml, $crate::words!(@json $ftoml $(, $fjson $(, $falias)*)?), &[$($fdoc),*]),
                $( (Self::$variant, $toml, $crate::words!(@json $toml $(, $json $(, $alias)*)?), &[$($doc),*]), )*
            ];

            /// The TOML word.
            #[must_use]
            #[allow(dead_code, reason = "not every enumeration is printed")]
            pub fn as_str(self) -> &'static str {
                Self::WORDS.iter().find(|w| w.0 == self).map_or("", |w| w.1)
            }
        }

        impl $crate::shape::Field for $name {
            fn read(cx: &mut $crate::shape::Reader<'_>, node: &$crate::shape::Node) -> Option<Self> {
                #[allow(unused_mut, unused_assignments, reason = "not every enumeration has a fallback")]
                let mut fallback: Option<Self> = None;
                $( fallback = Some(Self::$fallback); )?
                $crate::shape::read_word(cx, node, Self::WORDS, stringify!($case) == "fold", fallback)
            }

            fn write(&self, dialect: $crate::shape::Dialect) -> $crate::shape::Plain {
                $crate::shape::write_word(*self, dialect, Self::WORDS)
            }

            fn shape(dialect: $crate::shape::Dialect, _: &mut $crate::shape::Defs) -> serde_json::Value {
                let open = $crate::words!(@open $($fallback)?);
                $crate::shape::shape_word(dialect, Self::WORDS, stringify!($case) == "fold", !open)
            }
        }
    };
    (@open) => { false };
    (@open $fallback:ident) => { true };
    (@json $toml:literal) => { &[$toml] };
    (@json $toml:literal, $($json:literal),+) => { &[$($json),+] };
}
