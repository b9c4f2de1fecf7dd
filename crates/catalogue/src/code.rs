//! The syntax of a code, checked the same way by the table, the contract and the derive macro.

use std::fmt;

/// The longest code, in bytes.
pub const CODE_LENGTH_LIMIT: usize = 63;

/// Why a text is not a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeError {
    /// Fewer than three or more than [`CODE_LENGTH_LIMIT`] characters.
    Length(usize),
    /// The first character is not an upper-case ASCII letter.
    Start,
    /// The last character is an underscore.
    End,
    /// A character other than `A-Z`, `0-9` and `_`, at this byte offset.
    Character(usize),
}

impl fmt::Display for CodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CodeError::Length(length) => write!(
                formatter,
                "a code has 3 to {CODE_LENGTH_LIMIT} characters, this has {length}"
            ),
            CodeError::Start => {
                formatter.write_str("a code starts with an upper-case letter A to Z")
            }
            CodeError::End => formatter.write_str("a code does not end with an underscore"),
            CodeError::Character(offset) => write!(
                formatter,
                "a code consists of A to Z, 0 to 9 and underscores; invalid character at byte {offset}"
            ),
        }
    }
}

impl std::error::Error for CodeError {}

/// Checks a text against `^[A-Z][A-Z0-9_]{1,61}[A-Z0-9]$`.
pub const fn check_code(text: &str) -> Result<(), CodeError> {
    let bytes = text.as_bytes();
    if bytes.len() < 3 || bytes.len() > CODE_LENGTH_LIMIT {
        return Err(CodeError::Length(bytes.len()));
    }
    if !bytes[0].is_ascii_uppercase() {
        return Err(CodeError::Start);
    }
    let mut offset = 1;
    while offset < bytes.len() {
        let byte = bytes[offset];
        if !(byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_') {
            return Err(CodeError::Character(offset));
        }
        offset += 1;
    }
    if bytes[bytes.len() - 1] == b'_' {
        return Err(CodeError::End);
    }
    Ok(())
}

/// Converts a name in another style to the most likely code: `FileNotFound`, `file-not-found` and
/// `file not found` all give `FILE_NOT_FOUND`. The result may not be a valid code; check it.
pub fn code_from_name(name: &str) -> String {
    let characters: Vec<char> = name.trim().chars().take(4 * CODE_LENGTH_LIMIT).collect();
    let mut code = String::new();
    for (index, &character) in characters.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| characters[before]);
        let after = characters.get(index + 1);
        let follows_small = before.is_some_and(|it| it.is_lowercase() || it.is_numeric());
        let ends_capitals =
            before.is_some_and(char::is_uppercase) && after.is_some_and(|it| it.is_lowercase());
        let starts_word = character.is_uppercase() && (follows_small || ends_capitals);
        if (starts_word || !character.is_alphanumeric()) && !code.ends_with('_') {
            code.push('_');
        }
        if character.is_alphanumeric() {
            code.extend(character.to_uppercase());
        }
    }
    code.trim_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_follow_the_syntax_on_both_sides_of_every_limit() {
        let longest = "A".repeat(CODE_LENGTH_LIMIT);
        let too_long = "A".repeat(CODE_LENGTH_LIMIT + 1);
        for (text, expected) in [
            ("ABC", Ok(())),
            ("A_1", Ok(())),
            (longest.as_str(), Ok(())),
            ("", Err(CodeError::Length(0))),
            ("AB", Err(CodeError::Length(2))),
            (too_long.as_str(), Err(CodeError::Length(64))),
            ("1AB", Err(CodeError::Start)),
            ("_AB", Err(CodeError::Start)),
            ("AB_", Err(CodeError::End)),
            ("AbC", Err(CodeError::Character(1))),
            ("ABÉD", Err(CodeError::Character(2))),
        ] {
            assert_eq!(check_code(text), expected, "{text:?}");
        }
    }

    #[test]
    fn names_of_other_styles_become_codes() {
        for (name, code) in [
            ("FileNotFound", "FILE_NOT_FOUND"),
            ("HTTPError", "HTTP_ERROR"),
            ("file-not found", "FILE_NOT_FOUND"),
            ("fileNotFound_", "FILE_NOT_FOUND"),
            ("rate_limit_exceeded", "RATE_LIMIT_EXCEEDED"),
            ("Err404Seen", "ERR404_SEEN"),
            ("  Not Found. ", "NOT_FOUND"),
            ("", ""),
        ] {
            assert_eq!(code_from_name(name), code, "{name}");
        }
    }
}
