//! Parses the format string of a message.
//!
//! It can only use the fields of its variant, so that every dynamic value is in the details too.

/// A message, split at its placeholders.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Template {
    pub(crate) pieces: Vec<Piece>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Fixed text.
    Text(String),
    /// A field and its format.
    Field { name: String, format: String },
}

impl Template {
    /// Parses a format string; the error includes advice.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let (brace, after) = (&rest[at..=at], &rest[at + 1..]);
            if let Some(after) = after.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            let closed = after.split_once('}').filter(|_| brace == "{");
            let (inside, after) = closed.ok_or_else(|| {
                format!("unmatched `{brace}`; write `{brace}{brace}` for the character")
            })?;
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(field(inside)?);
            rest = after;
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        pieces.retain(|piece| *piece != Piece::Text(String::new()));
        Ok(Self { pieces })
    }

    /// The names and formats of the placeholders.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Field { name, format } => Some((name.as_str(), format.as_str())),
            Piece::Text(_) => None,
        })
    }
}

fn field(inside: &str) -> Result<Piece, String> {
    let (name, format) = inside.split_once(':').unwrap_or((inside, ""));
    let name = name.trim();
    if name.is_empty() {
        return Err("the placeholder is empty; name a field, as in `{path}` or `{0}`".to_owned());
    }
    let is_name = name.chars().all(|it| it.is_alphanumeric() || it == '_');
    if !is_name {
        return Err(format!(
            "`{name}` is not the name of a field; compute the value first and store it in a field"
        ));
    }
    if format.contains(['$', '*', '{']) {
        return Err(format!(
            "the format `{format}` takes its width from an argument; write the number"
        ));
    }
    Ok(Piece::Field {
        name: name.to_owned(),
        format: format.trim_end().to_owned(),
    })
}

/// The trait of `core::fmt` for a format.
pub(crate) fn format_trait(format: &str) -> &'static str {
    match format.chars().last() {
        Some('?') => "Debug",
        Some('x') => "LowerHex",
        Some('X') => "UpperHex",
        Some('o') => "Octal",
        Some('b') => "Binary",
        Some('e') => "LowerExp",
        Some('E') => "UpperExp",
        Some('p') => "Pointer",
        _ => "Display",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let parsed = match Template::read(text) {
            Ok(template) => template.pieces.iter().map(piece_text).collect::<String>(),
            Err(problem) => format!("! {problem}"),
        };
        assert!(parsed.starts_with(expected), "{text:?}: {parsed}");
    }

    fn piece_text(piece: &Piece) -> String {
        match piece {
            Piece::Text(text) => format!("[{text}]"),
            Piece::Field { name, format } => format!("<{name}|{format}>"),
        }
    }

    #[test]
    fn placeholders_are_split_from_text() {
        check("", "");
        check("plain", "[plain]");
        check("no file at {path}", "[no file at ]<path|>");
        check("{0}{1:?}", "<0|><1|?>");
        check("{{{a}}} and }}", "[{]<a|>[} and }]");
        check("{type:>8.2}", "<type|>8.2>");
        check("é{ü}é", "[é]<ü|>[é]");
    }

    #[test]
    fn invalid_placeholders_are_explained() {
        check("{", "! unmatched `{`");
        check("a } b", "! unmatched `}`");
        check("{path", "! unmatched `{`");
        check("{}", "! the placeholder is empty");
        check("{:?}", "! the placeholder is empty");
        check("{path.len()}", "! `path.len()` is not the name");
        check("{a:width$}", "! the format `width$`");
        check("{a:.*}", "! the format `.*`");
    }

    #[test]
    fn a_format_determines_its_trait() {
        for (format, name) in [
            ("", "Display"),
            (">8", "Display"),
            ("#?", "Debug"),
            ("04x", "LowerHex"),
        ] {
            assert_eq!(format_trait(format), name, "{format:?}");
        }
    }
}
