//! A report as people read it.

use std::io::IsTerminal;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};

use super::units::{delay, moment, plain, rate, short, span};
use crate::balance::{Life, MemberReport, Report};

/// Whether colours may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// No.
    Plain,
    /// Yes.
    Ansi,
}

impl Colour {
    /// What suits standard output.
    pub fn of_stdout() -> Self {
        let wanted =
            std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        if wanted { Self::Ansi } else { Self::Plain }
    }

    fn paint(self, line: &str, code: &str) -> String {
        if self == Self::Plain || code.is_empty() { line.to_owned() } else { format!("\x1b[{code}m{line}\x1b[0m") }
    }
}

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// One row a member.
    Table,
    /// Every term, statistics, ages, and the last decisions as well.
    All,
}

const COLUMNS: [&str; 10] = ["", "member", "alive", "delay", "rate", "weight", "score", "flows", "picks", "last error"];

/// Columns of numbers.
const NUMBERS: std::ops::RangeInclusive<usize> = 3..=8;

/// A balancer.
pub fn text(report: &Report, detail: Detail, colour: Colour) -> String {
    let mut out = colour.paint(&head(report), "1");
    out.push('\n');
    for line in lines(report) {
        out.push_str(&format!("  {line}\n"));
    }
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).set_header(COLUMNS);
    report.members.iter().for_each(|member| {
        table.add_row(row(member));
    });
    for at in NUMBERS {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    // One line a row, and three above them: borders, titles, a rule.
    for (at, line) in table.to_string().lines().enumerate() {
        let code = at.checked_sub(3).and_then(|at| report.members.get(at)).map_or("", code);
        out.push_str(&colour.paint(line, code));
        out.push('\n');
    }
    if detail == Detail::All {
        for member in &report.members {
            for (at, line) in terms(member).into_iter().enumerate() {
                let name = if at == 0 { format!("{}: ", plain(&member.member)) } else { "  ".to_owned() };
                out.push_str(&format!("  {name}{line}\n"));
            }
        }
        for decision in &report.decisions {
            let (member, what) = (plain(&decision.member), plain(&decision.what));
            out.push_str(&format!("  {}  {member}  {what}\n", moment(decision.wall_ms)));
        }
    }
    out
}

/// Where new flows go.
pub fn serving(report: &Report) -> String {
    match &report.serving[..] {
        _ if report.leaves => match &report.fallback {
            Some(fallback) => format!("new flows leave by the fallback {}", plain(fallback)),
            None => "new flows leave by the fallback".to_owned(),
        },
        [] => "new flows have nowhere to go".to_owned(),
        serving => {
            let all: Vec<String> = serving.iter().map(|member| plain(member)).collect();
            format!("new flows go to {}", all.join(", "))
        }
    }
}

fn head(report: &Report) -> String {
    let mut head = format!("balancer {} ({})", plain(&report.balancer), plain(&report.strategy));
    if report.round > 0 {
        head.push_str(&format!(", round {}", report.round));
    }
    if let Some(next) = report.next_round_ms {
        head.push_str(&format!(", next round in {}", span(next)));
    }
    head
}

fn lines(report: &Report) -> Vec<String> {
    let mut lines = vec![serving(report)];
    if let Some(why) = &report.why {
        lines[0].push_str(&format!(": {}", plain(why)));
    }
    if let Some(pin) = &report.pin {
        let left =
            pin.left_ms.map_or_else(|| "until told otherwise".to_owned(), |left| format!("for {} more", span(left)));
        let strict = if pin.strict { ", strictly" } else { "" };
        lines.push(format!("pinned to {} {left}{strict}", plain(&pin.member)));
    }
    if report.outage {
        lines.push("nothing answers at all: nothing is changed until something does".to_owned());
    }
    lines
}

fn row(member: &MemberReport) -> [String; COLUMNS.len()] {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    [
        if member.serves { "*" } else { "" }.to_owned(),
        plain(&member.member),
        alive(member),
        or_none(member.delay_ms.map(delay)),
        or_none(member.rate.map(rate)),
        member.weight.to_string(),
        or_none(member.score.map(short)),
        member.flows.to_string(),
        member.picks.to_string(),
        member.last_error.as_deref().map(plain).unwrap_or_default(),
    ]
}

/// Whether it works and takes part.
fn alive(member: &MemberReport) -> String {
    let mut words = vec![life(member.life).to_owned()];
    if let Some(life_udp) = member.life_udp.filter(|udp| *udp != member.life) {
        words.push(format!("udp {}", life(life_udp)));
    }
    if let Some(ejected) = member.ejected {
        words.push(format!("ejected for {}", span(ejected.left_ms)));
    }
    words.extend(member.fenced.then(|| "fenced".to_owned()));
    words.extend(member.pinned.then(|| "pinned".to_owned()));
    words.join(", ")
}

fn life(life: Life) -> &'static str {
    match life {
        Life::Untested => "untested",
        Life::Up => "up",
        Life::Down => "down",
    }
}

/// Colour of a member's row.
fn code(member: &MemberReport) -> &'static str {
    match member {
        MemberReport { life: Life::Down, .. } | MemberReport { ejected: Some(_), .. } => "31",
        MemberReport { serves: true, .. } => "32",
        MemberReport { fenced: true, .. } => "33",
        _ => "",
    }
}

/// Every term of a member's score, its statistics, and how old all that is.
fn terms(member: &MemberReport) -> Vec<String> {
    let mut lines = vec![];
    if let Some(terms) = member.terms {
        lines.push(format!(
            "dial={:.3}s dev={:.3}s body={:.3}s dev={:.3}s tau={:.3}s availability={:.3} tests={} dials={}",
            terms.dial,
            terms.dial_deviation,
            terms.body,
            terms.body_deviation,
            terms.tau,
            terms.availability,
            terms.tests,
            terms.dials,
        ));
    }
    if member.bytes > 0 || member.time_ms > 0 {
        lines.push(format!("last round: {} bytes in {}", member.bytes, delay(member.time_ms as f64)));
    }
    if let Some(stats) = member.stats {
        lines.push(format!(
            "results: {}, {} failed; average {} deviation {} least {} most {}",
            stats.all,
            stats.failed,
            delay(stats.average_ms),
            delay(stats.deviation_ms),
            delay(stats.least_ms),
            delay(stats.most_ms),
        ));
    }
    let ages = [
        member.seen_ms.map(|age| format!("last success {} ago", span(age))),
        member.tried_ms.map(|age| format!("last tried {} ago", span(age))),
        member.next_ms.map(|next| format!("next test in {}", span(next))),
        member.dial_limit_ms.map(|limit| format!("dials may take {}", delay(limit as f64))),
        member.ejected.map(|out| format!("ejected {} times in half an hour", out.times)),
        (!member.udp).then(|| "carries no datagrams".to_owned()),
    ];
    let ages: Vec<String> = ages.into_iter().flatten().collect();
    lines.extend(Some(ages.join("; ")).filter(|ages| !ages.is_empty()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::{DecisionReport, Ejected, PinReport, StatsReport, Terms};

    fn report() -> Report {
        let good = MemberReport {
            member: "tokyo".into(),
            serves: true,
            life: Life::Up,
            udp: true,
            delay_ms: Some(12.34),
            rate: Some(204_800.0),
            weight: 100,
            score: Some(20_480_000.0),
            terms: Some(Terms { dial: 0.1, tau: 0.5, availability: 1.0, tests: 8, ..Terms::default() }),
            stats: Some(StatsReport {
                all: 10,
                failed: 1,
                average_ms: 12.0,
                deviation_ms: 1.0,
                least_ms: 10.0,
                most_ms: 20.0,
            }),
            picks: 17,
            flows: 2,
            seen_ms: Some(3_000),
            next_ms: Some(27_000),
            ..MemberReport::default()
        };
        let bad = MemberReport {
            member: "os\x1b[31maka".into(),
            life: Life::Down,
            ejected: Some(Ejected { left_ms: 25_000, times: 2 }),
            weight: 300,
            last_error: Some("connection refused\nreally".into()),
            ..MemberReport::default()
        };
        Report {
            balancer: "proxy".into(),
            strategy: "optimal".into(),
            round: 12,
            next_round_ms: Some(200_000),
            serving: vec!["tokyo".into()],
            why: Some("highest score".into()),
            members: vec![good, bad],
            decisions: vec![DecisionReport { wall_ms: 0, member: "tokyo".into(), what: "first success".into() }],
            ..Report::default()
        }
    }

    #[test]
    fn one_row_a_member_and_the_serving_one_is_marked() {
        let text = text(&report(), Detail::Table, Colour::Plain);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "balancer proxy (optimal), round 12, next round in 3 m 20 s");
        assert_eq!(lines[1], "  new flows go to tokyo: highest score");
        assert!(lines[5].starts_with("│ * ┆ tokyo"), "{text}");
        for part in ["12.3 ms", "205 kB/s", " 100 ", "20480000", " 17 ", " 2 "] {
            assert!(lines[5].contains(part), "{part}: {text}");
        }
        assert!(lines[6].contains("down, ejected for 25 s") && lines[6].contains("–"), "{text}");
        assert!(lines[6].contains("connection refused?really"), "one line a row: {text}");
        assert!(!text.contains('\x1b'), "{text}");
        assert!(!text.contains("tau="), "terms are for those who ask");
    }

    #[test]
    fn everything_is_told_to_those_who_ask() {
        let text = text(&report(), Detail::All, Colour::Plain);
        for part in [
            "tokyo: dial=0.100s dev=0.000s body=0.000s dev=0.000s tau=0.500s availability=1.000 tests=8 dials=0",
            "results: 10, 1 failed; average 12.0 ms",
            "last success 3 s ago; next test in 27 s",
            "ejected 2 times in half an hour; carries no datagrams",
            "tokyo  first success",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn colours_go_around_rows_and_change_no_width() {
        let (bare, painted) =
            (text(&report(), Detail::Table, Colour::Plain), text(&report(), Detail::Table, Colour::Ansi));
        assert!(painted.contains("\x1b[32m│ * ┆ tokyo") && painted.contains("\x1b[31m│"), "{painted}");
        let stripped = ["1", "31", "32"].iter().fold(painted, |text, code| text.replace(&format!("\x1b[{code}m"), ""));
        assert_eq!(stripped.replace("\x1b[0m", ""), bare);
    }

    #[test]
    fn pins_outages_and_fallbacks_are_told() {
        let pin = PinReport { member: "osaka".into(), left_ms: Some(598_000), strict: true };
        let fallback = Some("direct".into());
        let odd = Report { pin: Some(pin), outage: true, leaves: true, fallback, serving: vec![], ..report() };
        let text = text(&odd, Detail::Table, Colour::Plain);
        assert!(text.contains("pinned to osaka for 9 m 58 s more, strictly"), "{text}");
        assert!(text.contains("nothing answers at all"), "{text}");
        assert!(text.contains("new flows leave by the fallback direct"), "{text}");
        assert_eq!(serving(&Report::default()), "new flows have nowhere to go");
    }
}
