//! How records describe themselves: trees of values with places, and one declaration from which both frontends, the schemas and the docs follow.
