//! `geodata update`.

use std::collections::BTreeSet;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::addr::Tag;
use crate::cli::assets::assets;
use crate::cli::control::block_on;
use crate::cli::exit::Exit;
use crate::cli::geodata_args::Update;
use crate::cli::prepare::{Absent, Prepared, prepare, read};
use crate::cli::say;
use crate::frontend::Source;
use crate::geo::Assets;
use crate::update::{Outcome, Staged, Step, Wish, fetch, usual, wishes};

/// Fetches files and puts them in place.
pub fn update(args: &Update) -> Result<Exit, String> {
    let assets = match &args.dir {
        Some(dir) => Assets::new([dir.clone()]),
        None => assets(),
    };
    let sources = if args.configs.is_empty() { direct() } else { read(&args.configs)? };
    let Prepared { ready, config, absent } = match prepare(sources.clone(), &assets, Absent::Empty) {
        Ok(prepared) => prepared,
        Err(why) => {
            say::err(why);
            return Ok(Exit::Config);
        }
    };
    tell_absent(&absent);
    let section = config.services.geodata.as_ref();
    let wishes = match section.map(wishes).filter(|wishes| !wishes.is_empty()) {
        _ if !args.file.is_empty() => args.file.clone(),
        Some(wishes) => wishes,
        None => usual(),
    };
    let by = args.outbound.as_deref().map(Tag::from).or_else(|| section.map(|section| section.outbound.clone()));
    let errand = ready.handle().errand(&by.unwrap_or_default()).map_err(|error| error.to_string())?;
    Ok(block_on(async {
        let mut teller = Teller::default();
        let mut tell = |step: Step<'_>| teller.tell(step);
        let fetched = tokio::select! {
            fetched = fetch(&errand, &assets, &wishes, &mut tell) => fetched.map_err(|error| error.to_string()),
            // What lies beside the old files goes away.
            _ = tokio::signal::ctrl_c() => Err("told to end: the files stay as they were".to_owned()),
        };
        teller.bar.finish_and_clear();
        let put = fetched.and_then(|staged| {
            if !args.configs.is_empty() {
                let trial = assets.with(staged.iter().map(Staged::trial));
                let tried = prepare(sources, &trial, Absent::Refuse);
                tried
                    .map_err(|why| format!("{why}\nthe config does not load with the new files: they are not taken"))?;
            }
            Staged::put(staged).map_err(|error| format!("the files stay as they were: {error}"))
        });
        match put {
            Ok(put) => {
                put.iter().for_each(|(place, outcome)| {
                    let outcome = if *outcome == Outcome::New { "updated" } else { "unchanged" };
                    let place = place.display().to_string();
                    say::out(if args.json {
                        json!({ "file": place, "result": outcome }).to_string()
                    } else {
                        format!("{place}: {outcome}")
                    });
                });
                Ok(Exit::Done)
            }
            Err(why) => {
                say::err(why);
                Err(Exit::Failed)
            }
        }
    }))
}

/// What runs where no config is named.
fn direct() -> Vec<Source> {
    let text = r#"{ "outbounds": [{ "protocol": "freedom" }] }"#;
    vec![Source { name: "direct.json".into(), bytes: text.as_bytes().into(), format: None }]
}

fn tell_absent(absent: &BTreeSet<String>) {
    for file in absent {
        say::err(format!("{file} lacks lists that the config names: on the way to it these hold nothing"));
    }
}

/// A bar on a terminal, else a line a file.
struct Teller {
    bar: ProgressBar,
}

impl Default for Teller {
    fn default() -> Self {
        Self { bar: ProgressBar::no_length() }
    }
}

impl Teller {
    fn tell(&mut self, step: Step<'_>) {
        match step {
            Step::Asked(Wish { file, .. }) => {
                self.bar.finish_and_clear();
                self.bar = bar();
                self.bar.set_message(file.0.clone());
            }
            Step::Came(got, total) => {
                if let Some(total) = total {
                    self.bar.set_length(total);
                }
                self.bar.set_position(got);
            }
            Step::Whole(wish, lists) => {
                let (file, bytes) = (&wish.file.0, self.bar.position());
                let line = format!("{file}: {lists} lists, {bytes} bytes from {}", wish.host());
                self.bar.suspend(|| say::err(line));
            }
        }
    }
}

/// Hidden by itself where standard error is no terminal.
fn bar() -> ProgressBar {
    let bar = ProgressBar::no_length();
    let form = "{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
    match ProgressStyle::with_template(form) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
