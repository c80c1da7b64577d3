//! What to say of text that other languages, and other keyboards, write instead.

/// Of a word that begins like a number.
pub(super) fn number_advice(raw: &str) -> String {
    let digits = raw.trim_start_matches('0');
    if raw.starts_with("0x") || raw.starts_with("0X") {
        "hexadecimal numbers do not exist in JSON; write it in decimal".into()
    } else if raw.starts_with('+') {
        "leave the plus sign out".into()
    } else if raw.starts_with('0') && raw.len() > 1 && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    {
        format!("a number does not begin with 0: write {}, or \"{}\" if it is a text", short(digits), short(raw))
    } else if raw.starts_with('.') || raw.ends_with('.') {
        "digits stand on both sides of the point".into()
    } else {
        format!("a text stands in double quotes: \"{}\"", short(raw))
    }
}

/// As much of a word as a message can hold.
pub(super) fn short(raw: &str) -> String {
    if raw.chars().count() <= 40 { raw.to_owned() } else { raw.chars().take(40).chain(['…']).collect() }
}

/// Advice for characters that look like JSON's own.
pub(super) fn look_alike(found: char) -> Option<String> {
    let meant = match found {
        '“' | '”' | '„' | '«' | '»' | '＂' => "\"",
        '‘' | '’' | '`' | '＇' => "\"",
        '，' | '、' => ",",
        '：' => ":",
        '｛' => "{",
        '｝' => "}",
        '［' | '【' => "[",
        '］' | '】' => "]",
        '\u{a0}' | '\u{3000}' | '\u{2000}'..='\u{200b}' | '\u{202f}' | '\u{feff}' => {
            return Some(format!("an invisible character (U+{:04X}) stands here; delete it", u32::from(found)));
        }
        ';' => return Some("members are separated by commas".into()),
        '/' => return Some("comments begin with // or /*".into()),
        _ => return None,
    };
    Some(format!("write {meant} (U+{:04X} only looks like it)", u32::from(found)))
}
