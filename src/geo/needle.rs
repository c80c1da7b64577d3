//! Texts without which an expression cannot be found, so that most searches end before the expression is tried.

use regex_automata::util::syntax::parse;
use regex_syntax::hir::{Hir, HirKind};

use crate::model::goregex::translate;

/// Texts of which one occurs wherever the expression is found; none where there are no such texts, or short ones that occur
/// everywhere.
pub(super) fn needles(pattern: &str) -> Option<Vec<String>> {
    let found = of(&parse(&translate(pattern).ok()?).ok()?)?;
    let texts = found.into_iter().map(|bytes| String::from_utf8(bytes).ok());
    texts.collect()
}

/// A text as short as this is no needle: most names have a `.com` or a `www.`.
const SHORT: usize = 4;

/// Alternatives that are looked for at most.
const MANY: usize = 16;

fn of(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    match hir.kind() {
        HirKind::Literal(literal) if literal.0.len() > SHORT => Some(vec![literal.0.to_vec()]),
        HirKind::Capture(group) => of(&group.sub),
        HirKind::Repetition(repeated) if repeated.min > 0 => of(&repeated.sub),
        // All parts are there, so the one that says most is enough.
        HirKind::Concat(parts) => parts.iter().filter_map(of).max_by_key(|texts| texts.iter().map(Vec::len).min()),
        HirKind::Alternation(parts) => {
            let all: Vec<_> = parts.iter().map(of).collect::<Option<Vec<_>>>()?.concat();
            (all.len() <= MANY).then_some(all)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_text_that_must_occur_is_the_needle() {
        let is = |pattern: &str, want: &[&str]| {
            let want = (!want.is_empty()).then(|| want.iter().map(|text| (*text).to_owned()).collect());
            assert_eq!(needles(pattern), want, "{pattern}");
        };
        is(r"^ad[0-9]+\.tracker\.(com|net)$", &[".tracker."]);
        is(r"(^|\.)shop\.example$", &["shop.example"]);
        is(r"(market|bazaar)[0-9]", &["market", "bazaar"]);
        is(r"(sales){2,}", &["sales"]);
        // Nothing that must occur, or nothing that says anything.
        for pattern in [r"(sales)*", r"(?i)market", r"^[a-z]+$", r"^ad\.", r"(market|ad)[0-9]", r"\.com$", ""] {
            is(pattern, &[]);
        }
    }
}
