//! A picture of one world: when each member was there, and who each strategy sent new flows to.

use std::fmt::Write as _;

use super::bench::Played;
use super::network::World;

/// Colours of members, told apart by most eyes (Okabe and Ito).
const COLOURS: [&str; 8] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#b8a800"];
/// Where time begins, and how wide it is.
const LEFT: f64 = 190.0;
const WIDE: f64 = 840.0;
/// Height of a band and of the pause below it.
const BAND: f64 = 16.0;
const PAUSE: f64 = 8.0;

/// Draws it as SVG; `names` are those of the strategies, in the order of the scores.
#[must_use]
pub fn picture(world: &World, played: &Played, names: &[String]) -> String {
    let rows = world.paths.len() + names.len();
    let (width, height) = (LEFT + WIDE + 110.0, 96.0 + (BAND + PAUSE) * rows as f64 + 26.0);
    let mut svg = String::new();
    let x = |second: f64| LEFT + WIDE * second / world.length as f64;
    let mut put = |text: String| {
        svg.push_str(&text);
        svg.push('\n');
    };
    put(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\" fill=\"#222\">"
    ));
    put(format!("<title>{}: {}</title>", played.place.name, played.place.about));
    put(format!("<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>"));
    put(format!(
        "<text x=\"12\" y=\"24\" font-size=\"16\">{}, {} (seed {}): who serves new flows, over {} hours</text>",
        played.place.name,
        played.place.about,
        played.seed,
        world.length / 3600
    ));
    let mut y = 48.0;
    put(label(12.0, y, "members (grey: silent, black: refusing)", "#666"));
    y += 10.0;
    let outages = world.outages();
    for (member, path) in world.paths.iter().enumerate() {
        put(label(24.0, y + 12.0, &format!("m{member}"), "#222"));
        put(bar(x(path.born), x(world.length as f64), y, colour(member)));
        for outage in outages.iter().filter(|outage| outage.member == member) {
            let refusing = world.at(member, outage.from as f64).health == super::network::Health::Refusing;
            let dark = if refusing { "#000" } else { "#bbb" };
            put(bar(x(outage.from as f64), x(outage.until as f64), y, dark));
        }
        y += BAND + PAUSE;
    }
    y += 16.0;
    put(label(12.0, y - 4.0, "strategies, and their mean slowdown", "#666"));
    y += 4.0;
    for (name, score) in names.iter().zip(&played.scores) {
        put(label(24.0, y + 12.0, name, "#222"));
        for (place, &(from, member)) in score.picks.iter().enumerate() {
            let until = score.picks.get(place + 1).map_or(world.length as f64, |&(until, _)| until);
            put(bar(x(from), x(until), y, colour(member)));
        }
        put(label(LEFT + WIDE + 8.0, y + 12.0, &format!("{:.3}", score.slowdown), "#222"));
        y += BAND + PAUSE;
    }
    for hour in 0..=world.length / 3600 {
        let at = x(hour as f64 * 3600.0);
        put(format!(
            "<path d=\"M{at:.1} 52V{y:.0}\" stroke=\"#222\" stroke-opacity=\".15\"/><text x=\"{at:.1}\" y=\"{:.0}\" \
             text-anchor=\"middle\" fill=\"#666\">{hour} h</text>",
            y + 14.0
        ));
    }
    let _ = writeln!(svg, "</svg>");
    svg
}

fn colour(member: usize) -> &'static str {
    COLOURS[member % COLOURS.len()]
}

fn label(x: f64, y: f64, text: &str, fill: &str) -> String {
    format!("<text x=\"{x:.0}\" y=\"{y:.0}\" fill=\"{fill}\">{text}</text>")
}

/// A band; the shortest one can still be seen.
fn bar(from: f64, until: f64, y: f64, fill: &str) -> String {
    let wide = (until - from).max(0.5);
    format!("<rect x=\"{from:.1}\" y=\"{y:.0}\" width=\"{wide:.1}\" height=\"{BAND:.0}\" fill=\"{fill}\"/>")
}
