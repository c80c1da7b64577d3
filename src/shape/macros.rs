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

            fn read_from(cx: &mut $crate::shape::Reader<'_>, table: &mut $crate::shape::Table<'_>) -> Self {
                let base = Self::default();
                // A record without keys uses none of them.
                let _ = (&base, &*cx, &*table);
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
                // One by one: of two keys without effect, neither wins.
                $($( table.ignore(cx, &[$dead], $why); $( table.ignore(cx, &[$dead2], $why); )* )*)?
                let out = Self { $($field),* };
                $(
                    let out = {
                        let mut out = out;
                        $hook(&mut out, cx, table);
                        out
                    };
                )?
                out
            }

            fn write_to(&self, dialect: $crate::shape::Dialect, out: &mut $crate::shape::PlainMap) {
                let base = Self::default();
                let _ = (&base, dialect, &*out);
                $(
                    if $crate::record!(@required (dialect) $($flag)?) || self.$field != base.$field {
                        $crate::shape::write_key(out, dialect, $crate::shape::Key { toml: $crate::record!(@toml $field $(, $flag)?), json: &[$($json $(, $alias)*)?] }, &self.$field);
                    }
                )*
            }

            fn keys(dialect: $crate::shape::Dialect, defs: &mut $crate::shape::Defs) -> Vec<$crate::shape::KeyDoc> {
                let base = Self::default();
                let keys: &mut Vec<$crate::shape::KeyDoc> = &mut Vec::new();
                let _ = (&base, dialect, &*defs);
                $(
                    let required = $crate::record!(@required (dialect) $($flag)?);
                    $crate::shape::push_key(keys, dialect, defs, $crate::shape::Key { toml: $crate::record!(@toml $field $(, $flag)?), json: &[$($json $(, $alias)*)?] }, &[$($doc),*], required, &base.$field);
                )*
                $($( keys.push($crate::shape::old_key(&[$dead $(, $dead2)*], "", Some($why))); )*)?
                $($( keys.push($crate::shape::old_key(&[$old $(, $old2)*], $means, None)); )*)?
                std::mem::take(keys)
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
            pub fn as_str(self) -> &'static str {
                Self::WORDS.iter().find(|w| w.0 == self).map_or("", |w| w.1)
            }
        }

        impl $crate::shape::Field for $name {
            fn read(cx: &mut $crate::shape::Reader<'_>, node: &$crate::shape::Node) -> Option<Self> {
                let fallback: Option<Self> = $crate::words!(@fallback $($fallback)?);
                $crate::shape::read_word(cx, node, Self::WORDS, stringify!($case) == "fold", fallback)
            }

            fn write(&self, dialect: $crate::shape::Dialect) -> $crate::shape::Plain {
                match dialect {
                    $crate::shape::Dialect::Json => $crate::shape::json_word(*self, Self::WORDS),
                    $crate::shape::Dialect::Toml => self.as_str().into(),
                }
            }

            fn shape(dialect: $crate::shape::Dialect, _: &mut $crate::shape::Defs) -> serde_json::Value {
                let open = $crate::words!(@open $($fallback)?);
                $crate::shape::shape_word(dialect, Self::WORDS, stringify!($case) == "fold", !open)
            }
        }
    };
    (@fallback) => { None };
    (@fallback $fallback:ident) => { Some(Self::$fallback) };
    (@open) => { false };
    (@open $fallback:ident) => { true };
    (@json $toml:literal) => { &[$toml] };
    (@json $toml:literal, $($json:literal),+) => { &[$($json),+] };
}
