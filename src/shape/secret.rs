//! Values that must never be seen.

use std::fmt;

use super::defs::Defs;
use super::field::Field;
use super::node::Node;
use super::plain::Plain;
use super::reader::{Dialect, Reader};

/// A password, key or id: prints as `***`, is wiped when dropped, and its place in the file is blanked in excerpts.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Secret<T: zeroize::Zeroize>(T);

impl<T: zeroize::Zeroize> Secret<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value, for the code that must use it.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: zeroize::Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: zeroize::Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl From<&str> for Secret<String> {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// A text that is not shown. Its wrong type is told without its content.
impl Field for Secret<String> {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        cx.secrets.push(node.span);
        match node.text() {
            Some(text) => Some(Self::new(text.to_owned())),
            None => {
                cx.error(
                    node,
                    super::problem::Kind::Type,
                    format!("invalid type: {}, expected a string", node.describe(false)),
                );
                None
            }
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(self.0.clone())
    }

    fn shape(_: Dialect, _: &mut Defs) -> serde_json::Value {
        serde_json::json!({ "type": "string", "x-secret": true })
    }
}
