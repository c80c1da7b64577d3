//! The small verbs: what can be told without a configuration.

use clap::CommandFactory;
use uuid::Uuid;

use super::args::Program;
use super::exit::Exit;
use super::{say, words};

/// Longest text that stands for a UUID, as in Xray.
const LONGEST_TEXT: usize = 30;

/// `version`.
pub fn version() -> Exit {
    say::out(words::version());
    Exit::Done
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

/// `man`.
pub fn man() -> Exit {
    let mut text = Vec::new();
    match clap_mangen::Man::new(Program::command()).render(&mut text) {
        Ok(()) => {
            say::out(String::from_utf8_lossy(&text));
            Exit::Done
        }
        Err(error) => {
            say::err(format!("the manual page cannot be made: {error}"));
            Exit::Failed
        }
    }
}
