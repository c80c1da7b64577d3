//! What is shown while the demo runs: a table that redraws itself on a terminal, plain lines elsewhere, or JSON.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use serde_json::{Value, json};

use super::judge::Judgement;
use super::scene::{NAMES, Quality, SCENES, Scene, WEIGHTS};
use crate::balance::{Board, Life, Member};

/// How to show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One JSON object a line.
    Json,
    /// Lines that are only added.
    Plain,
    /// A table that redraws itself.
    Terminal,
}

impl Mode {
    /// What suits standard output, unless JSON was asked for.
    #[must_use]
    pub fn of_stdout(json: bool) -> Self {
        if json {
            Self::Json
        } else if io::stdout().is_terminal() {
            Self::Terminal
        } else {
            Self::Plain
        }
    }
}

/// All that can be shown of one moment.
#[derive(Debug)]
pub struct Frame<'a> {
    /// Which scene runs.
    pub scene: usize,
    /// Since the start of the demo.
    pub elapsed: Duration,
    /// What the engine knows of its members.
    pub board: &'a Board,
    /// Its members, in its own order.
    pub members: &'a [Member],
    /// Users' bytes each line has carried.
    pub carried: [u64; 3],
}

/// The summary of the whole.
#[derive(Debug)]
pub struct Summary<'a> {
    /// One judgement a scene, with how long the right line took to appear.
    pub scenes: &'a [(Judgement, Option<Duration>)],
    /// Rounds of speed tests.
    pub rounds: u64,
    /// Pages that came.
    pub good: u64,
    /// Pages that did not.
    pub bad: u64,
    /// How long it took.
    pub elapsed: Duration,
}

impl Summary<'_> {
    /// Whether the right line served in every scene.
    #[must_use]
    pub fn right(&self) -> bool {
        self.scenes.len() == SCENES.len() && self.scenes.iter().all(|(judgement, _)| judgement.right())
    }
}

/// Where it is shown.
pub struct Screen<'a> {
    out: &'a mut dyn Write,
    mode: Mode,
    drawn: usize,
    round: u64,
}

impl<'a> Screen<'a> {
    /// Shows on `out`.
    pub fn new(out: &'a mut dyn Write, mode: Mode) -> Self {
        Self { out, mode, drawn: 0, round: 0 }
    }

    /// A scene begins.
    ///
    /// # Errors
    /// Where the output is gone.
    pub fn scene(&mut self, at: usize, scene: &Scene) -> io::Result<()> {
        if self.mode == Mode::Json {
            return Ok(());
        }
        self.wipe()?;
        writeln!(self.out, "scene {} of {}: {}", at + 1, SCENES.len(), scene.title)?;
        self.out.flush()
    }

    /// Something may have changed.
    ///
    /// # Errors
    /// Where the output is gone.
    pub fn show(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        let fresh = frame.board.round != self.round;
        self.round = frame.board.round;
        match self.mode {
            Mode::Json if fresh => writeln!(self.out, "{}", round_json(frame))?,
            Mode::Plain if fresh => writeln!(self.out, "  {}", round_line(frame))?,
            Mode::Terminal => self.redraw(&table(frame).to_string())?,
            Mode::Json | Mode::Plain => return Ok(()),
        }
        self.out.flush()
    }

    /// What came of a scene.
    ///
    /// # Errors
    /// Where the output is gone.
    pub fn judged(&mut self, judgement: &Judgement, after: Option<Duration>) -> io::Result<()> {
        if self.mode == Mode::Json {
            return Ok(());
        }
        self.wipe()?;
        writeln!(self.out, "  {}", judgement_line(judgement, after))?;
        self.out.flush()
    }

    /// The end.
    ///
    /// # Errors
    /// Where the output is gone.
    pub fn end(&mut self, summary: &Summary<'_>) -> io::Result<()> {
        if self.mode == Mode::Json {
            writeln!(self.out, "{}", summary_json(summary))?;
            return self.out.flush();
        }
        self.wipe()?;
        let Summary { scenes, rounds, good, bad, elapsed } = summary;
        let (right, of, seconds) =
            (scenes.iter().filter(|(judgement, _)| judgement.right()).count(), SCENES.len(), elapsed.as_secs_f64());
        writeln!(self.out)?;
        writeln!(
            self.out,
            "{rounds} rounds in {seconds:.1} s; {good} pages came, {bad} did not (their line had just died)"
        )?;
        writeln!(self.out, "the right line served in {right} of {of} scenes, by the count of what each line carried")?;
        writeln!(self.out, "{}", if summary.right() { "right" } else { "WRONG: a wrong line served" })?;
        self.out.flush()
    }

    fn redraw(&mut self, text: &str) -> io::Result<()> {
        self.wipe()?;
        writeln!(self.out, "{text}")?;
        self.drawn = text.lines().count();
        Ok(())
    }

    /// Takes the table off the terminal, so that lines can be added above it.
    fn wipe(&mut self) -> io::Result<()> {
        if self.drawn > 0 {
            // Up to the table's first line, and clear from there.
            write!(self.out, "\x1b[{}A\x1b[J", self.drawn)?;
            self.drawn = 0;
        }
        Ok(())
    }
}

/// What the engine knows of the line with this name.
fn state<'a>(frame: &'a Frame<'_>, name: &str) -> Option<(usize, &'a crate::balance::State)> {
    let at = frame.members.iter().position(|member| member.tag.as_str() == name)?;
    frame.board.members.get(at).map(|state| (at, state))
}

fn serves(frame: &Frame<'_>, name: &str) -> bool {
    state(frame, name).is_some_and(|(at, _)| frame.board.serving() == Some(at))
}

fn table(frame: &Frame<'_>) -> Table {
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED);
    let round = format!("round {}", frame.board.round);
    table.set_header([&round, "its line truly is", "measured", "weight", "score", "carried", "serving"]);
    for (at, name) in NAMES.into_iter().enumerate() {
        let known = state(frame, name).map(|(_, state)| state);
        table.add_row([
            name.to_owned(),
            line(SCENES[frame.scene].lines[at]),
            known.map_or_else(String::new, measured),
            WEIGHTS[at].to_string(),
            known.and_then(|state| state.score).map_or_else(String::new, millions),
            format!("{} kB", frame.carried[at] / 1000),
            if serves(frame, name) { "◀ serves" } else { "" }.to_owned(),
        ]);
    }
    for column in 1..=5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn round_line(frame: &Frame<'_>) -> String {
    let mut text = format!("round {:>2}:", frame.board.round);
    for (name, weight) in NAMES.into_iter().zip(WEIGHTS) {
        let Some((_, state)) = state(frame, name) else { continue };
        let score = state.score.map_or_else(|| "?".into(), millions);
        text += &format!("  {name} {} x {weight} = {score}", measured(state));
    }
    let serving = NAMES.into_iter().find(|name| serves(frame, name)).unwrap_or("none");
    format!("{text}  -> {serving} serves")
}

fn judgement_line(judgement: &Judgement, after: Option<Duration>) -> String {
    let shares = NAMES.into_iter().zip(judgement.carried).map(|(name, bytes)| format!("{name} {} kB", bytes / 1000));
    let carried = shares.collect::<Vec<_>>().join(", ");
    let word = if judgement.right() { "right" } else { "WRONG" };
    let after = after.map_or_else(String::new, |after| format!(", first used after {:.1} s", after.as_secs_f64()));
    format!("{word}: {} is worth most{after}; carried since: {carried}", judgement.name())
}

fn round_json(frame: &Frame<'_>) -> Value {
    let members: Vec<Value> = (0..NAMES.len())
        .filter_map(|at| {
            let (_, state) = state(frame, NAMES[at])?;
            Some(json!({
                "tag": NAMES[at],
                "rate": state.rate,
                "weight": state.weight,
                "score": state.score,
                "up": state.life == Life::Up,
                "true_rate": SCENES[frame.scene].lines[at].rate(),
                "carried": frame.carried[at],
                "serving": serves(frame, NAMES[at]),
            }))
        })
        .collect();
    json!({
        "round": frame.board.round,
        "scene": frame.scene + 1,
        "elapsed_ms": frame.elapsed.as_millis() as u64,
        "serving": NAMES.into_iter().find(|name| serves(frame, name)),
        "members": members,
    })
}

fn summary_json(summary: &Summary<'_>) -> Value {
    let scenes: Vec<Value> = summary
        .scenes
        .iter()
        .zip(SCENES)
        .map(|((judgement, after), scene)| {
            json!({
                "title": scene.title,
                "expected": judgement.name(),
                "carried": NAMES.into_iter().zip(judgement.carried).collect::<std::collections::BTreeMap<_, _>>(),
                "first_used_after_ms": after.map(|after| after.as_millis() as u64),
                "right": judgement.right(),
            })
        })
        .collect();
    json!({
        "right": summary.right(),
        "rounds": summary.rounds,
        "pages": { "good": summary.good, "bad": summary.bad },
        "elapsed_ms": summary.elapsed.as_millis() as u64,
        "scenes": scenes,
    })
}

fn line(quality: Quality) -> String {
    if quality.alive() {
        format!("{} kB/s, {} ms", quality.speed / 1000, quality.delay.as_millis())
    } else {
        "dead".into()
    }
}

fn measured(state: &crate::balance::State) -> String {
    match (state.life, state.rate) {
        (Life::Down, _) => "failed".into(),
        (_, Some(rate)) => format!("{:.0} kB/s", rate / 1000.0),
        (_, None) => "?".into(),
    }
}

fn millions(score: f64) -> String {
    format!("{:.1} M", score / 1e6)
}
