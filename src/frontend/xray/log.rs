//! `log`.

use crate::model::log::{Level, Log, Sink};
use crate::shape::{Entry, Key, Kind, Node, Problem, Reader, Record, Severity, Table};

/// Reads the section. Without it Xray logs warnings to standard output and keeps no access log; with it the access log
/// goes to standard output unless the section says otherwise.
pub fn read(cx: &mut Reader<'_>, entry: Option<&Entry>) -> Log {
    let usual = Log { level: Level::Warning, ..Log::default() };
    let Some(entry) = entry else { return usual };
    cx.key(&entry.key, |cx| section(cx, &entry.node)).unwrap_or(usual)
}

fn section(cx: &mut Reader<'_>, node: &Node) -> Option<Log> {
    let mut table = Table::open(cx, node)?;
    let level = table.peek(cx.dialect, Key::json(&["loglevel"])).map(|entry| entry.node.text());
    let unsaid = matches!(level, None | Some(Some("")));
    let access = table.has(cx.dialect, Key::json(&["access"]));
    let before = cx.problems.len();
    let mut log = Log::read_from(cx, &mut table);
    let odd = soften(&mut cx.problems[before..]);
    if unsaid {
        // An empty word is what clients write for none.
        cx.problems.retain(|p| p.kind != Kind::Value || !p.path.to_lowercase().ends_with("loglevel"));
    }
    table.finish(cx);
    if unsaid || odd {
        log.level = Level::Warning;
    }
    if !access {
        log.access = Sink::Stdout;
    }
    if let Err(why) = mask(&log.mask_address) {
        let at = node.map().unwrap_or_default().iter().find(|e| e.key.eq_ignore_ascii_case("maskAddress"));
        let at = at.map_or(node, |entry| &entry.node);
        cx.key("maskAddress", |cx| {
            cx.error(at, Kind::Value, why).help =
                Some("write `quarter`, `half`, `full`, or bits such as `/16+/64`".into());
        });
    }
    Some(log)
}

/// Xray takes an unknown level as `warning`, so it is no error here. Whether there was one.
fn soften(problems: &mut [Problem]) -> bool {
    let mut odd = false;
    for problem in problems.iter_mut().filter(|p| p.kind == Kind::Value && p.path.to_lowercase().ends_with("loglevel"))
    {
        problem.severity = Severity::Warning;
        problem.help.get_or_insert_with(|| "it is taken as `warning`, as Xray does".into());
        odd = true;
    }
    odd
}

/// Checks how addresses are to be shortened.
fn mask(text: &str) -> Result<(), String> {
    if matches!(text, "" | "quarter" | "half" | "full") {
        return Ok(());
    }
    let bad = || format!("invalid mask: {text:?}");
    let mut halves = text.split('+');
    let bits = |half: Option<&str>, step: u8, most: u8| match half {
        None | Some("") => Ok(()),
        Some(half) => {
            let bits: u8 = half.strip_prefix('/').and_then(|n| n.parse().ok()).ok_or_else(bad)?;
            if bits <= most && bits.is_multiple_of(step) { Ok(()) } else { Err(bad()) }
        }
    };
    bits(halves.next(), 8, 32)?;
    bits(halves.next(), 1, 128)?;
    if halves.next().is_some() { Err(bad()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_words_or_bits() {
        for good in ["", "half", "/16+/64", "/0", "/24+", "+/48"] {
            assert_eq!(mask(good), Ok(()), "{good}");
        }
        for bad in ["Half", "/12", "/40", "16+64", "/16+/129", "/8+/8+/8"] {
            assert!(mask(bad).is_err(), "{bad}");
        }
    }
}
