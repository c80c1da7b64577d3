//! The small verbs: what can be told without a configuration.

use std::io::{self, Write};

use clap::CommandFactory;
use uuid::Uuid;

use super::args::{Demo, Program};
use super::exit::Exit;
use super::{say, words};
use crate::demo;

/// Longest text that stands for a UUID, as in Xray.
const LONGEST_TEXT: usize = 30;

/// `version`.
pub fn version() -> Exit {
    say::out(words::version());
    Exit::Done
}

/// `demo`: fails if a wrong member served, so scripts can tell.
pub fn demo(args: &Demo) -> Exit {
    let options = demo::Options { mode: demo::Mode::of_stdout(args.json), sabotage: args.sabotage };
    match demo::run(options, &mut io::stdout()) {
        Ok(true) => Exit::Done,
        Ok(false) => Exit::Failed,
        Err(error) => {
            say::err(error.to_string());
            Exit::Failed
        }
    }
}

/// `uuid`: random, or version 5 over the zero name space, which is how Xray reads an `id` that is a text.
pub fn uuid(input: Option<&str>) -> Exit {
    let id = match input {
        None | Some("") => Uuid::new_v4(),
        Some(text) if text.len() <= LONGEST_TEXT => Uuid::new_v5(&Uuid::nil(), text.as_bytes()),
        Some(_) => {
            say::err(format!("Input must be within {LONGEST_TEXT} bytes."));
            return Exit::Failed;
        }
    };
    say::out(id.to_string());
    Exit::Done
}

/// `completions`.
pub fn completions(shell: clap_complete::Shell) -> Exit {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Program::command(), "etemenanki", &mut text);
    say::out(String::from_utf8_lossy(&text));
    Exit::Done
}

/// `man`: one page, with a section for each verb.
pub fn man() -> Exit {
    match page() {
        Ok(text) => {
            say::out(String::from_utf8_lossy(&text));
            Exit::Done
        }
        Err(error) => {
            say::err(format!("the manual page cannot be made: {error}"));
            Exit::Failed
        }
    }
}

fn page() -> io::Result<Vec<u8>> {
    let mut program = Program::command();
    program.build();
    let mut text = Vec::new();
    clap_mangen::Man::new(program.clone()).render(&mut text)?;
    for verb in program.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let man = clap_mangen::Man::new(verb.clone());
        writeln!(text, ".SH \"VERB {}\"", verb.get_name().to_uppercase())?;
        man.render_description_section(&mut text)?;
        man.render_synopsis_section(&mut text)?;
        man.render_options_section(&mut text)?;
        man.render_extra_section(&mut text)?;
    }
    Ok(text)
}
