//! Words to the user. A reader that has gone away (`… | head -1`) is no reason to fail.

use std::io::Write;

/// One line, or several, to standard output.
pub fn out(text: impl AsRef<str>) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{}", text.as_ref().trim_end_matches('\n')).and_then(|()| stdout.flush());
}

/// The same to standard error.
pub fn err(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stderr().lock(), "{}", text.as_ref().trim_end_matches('\n'));
}
