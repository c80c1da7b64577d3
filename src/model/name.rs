//! A tag that is meant to be one of somebody else's, before it is known whether it is.

use serde_json::{Value as Json, json};

use crate::addr::Tag;
use crate::shape::{Defs, Dialect, Field, Node, Plain, Reader, Spot};

/// A reference by tag, and where it was written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Name {
    /// The tag meant.
    pub tag: Tag,
    /// Where it is meant.
    pub at: Spot,
}

impl Name {
    /// A reference that was written nowhere.
    #[must_use]
    pub fn new(tag: &str) -> Self {
        Self { tag: tag.into(), at: Spot::default() }
    }
}

impl Field for Name {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let at = cx.spot(node);
        String::read(cx, node).map(|tag| Self { tag: tag.into(), at })
    }

    fn write(&self, _: Dialect) -> Plain {
        self.tag.as_str().into()
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string" })
    }
}
