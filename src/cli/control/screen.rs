//! Showing something again and again.

use std::io::{self, IsTerminal, Write};

/// Where it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screen {
    /// On a terminal: each picture takes the place of the one before.
    Terminal,
    /// Elsewhere: each is added.
    Plain,
}

impl Screen {
    /// What suits standard output.
    pub fn of_stdout() -> Self {
        if io::stdout().is_terminal() { Self::Terminal } else { Self::Plain }
    }

    /// Shows the next picture.
    ///
    /// # Errors
    /// Where nobody looks any more.
    pub fn show(self, out: &mut impl Write, text: &str, first: bool) -> io::Result<()> {
        match self {
            // From the upper left corner, each line to its end, then all that is below: nothing flickers.
            Self::Terminal => {
                let text = text.replace('\n', "\x1b[K\r\n");
                write!(out, "{}{text}\x1b[J", if first { "\x1b[2J\x1b[H" } else { "\x1b[H" })?;
            }
            Self::Plain => write!(out, "{text}")?,
        }
        out.flush()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shown(screen: Screen) -> String {
        let mut out = Vec::new();
        screen.show(&mut out, "a\nb\n", true).unwrap();
        screen.show(&mut out, "c\n", false).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_terminal_is_drawn_over_and_a_file_is_added_to() {
        assert_eq!(shown(Screen::Plain), "a\nb\nc\n");
        assert_eq!(shown(Screen::Terminal), "\x1b[2J\x1b[Ha\x1b[K\r\nb\x1b[K\r\n\x1b[J\x1b[Hc\x1b[K\r\n\x1b[J");
    }
}
