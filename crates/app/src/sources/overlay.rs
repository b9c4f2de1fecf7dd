//! Reads overlay files: JSON, YAML, or TOML if the name ends in `.toml`.

use std::path::Path;

use panpan_openapi::{DOCUMENT_BYTES_LIMIT, Overlay, OverlayError};

/// The hint about an invalid overlay file.
pub(crate) const OVERLAY_HINT: &str = "an overlay has a list \"operations\"; each entry has \"match\" and the changes; it \
     is JSON, YAML, or TOML in a file whose name ends in .toml";

/// Why a file is not a valid overlay.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OverlayFileError {
    #[error(transparent)]
    Overlay(#[from] OverlayError),
    #[error("invalid overlay in TOML: {0}")]
    Toml(String),
}

/// Parses the contents of an overlay file.
pub(crate) fn read_overlay(path: &Path, bytes: &[u8]) -> Result<Overlay, OverlayFileError> {
    let ending = path.extension().and_then(|it| it.to_str());
    match ending.is_some_and(|it| it.eq_ignore_ascii_case("toml")) {
        true => toml(bytes).map_err(OverlayFileError::Toml),
        false => Ok(Overlay::read(bytes)?),
    }
}

fn toml(bytes: &[u8]) -> Result<Overlay, String> {
    if bytes.len() > DOCUMENT_BYTES_LIMIT {
        return Err(format!(
            "the file has more than {DOCUMENT_BYTES_LIMIT} bytes"
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text[..start.min(text.len())].matches('\n').count() + 1;
        format!("line {line}: {}", error.message())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlay_can_be_json_yaml_or_toml() {
        let json = r#"{"operations": [{"match": "shop/*", "hide": true, "effects": {"HTTP_404": "none"}}]}"#;
        let yaml = "operations:\n- match: shop/*\n  hide: true\n  effects: {HTTP_404: none}\n";
        let toml =
            "[[operations]]\nmatch = \"shop/*\"\nhide = true\neffects = { HTTP_404 = \"none\" }\n";
        let read = |name: &str, text: &str| read_overlay(Path::new(name), text.as_bytes());
        let expected = read("shop.json", json).unwrap();
        assert_eq!(expected.operations.len(), 1);
        for (name, text) in [
            ("shop.yaml", yaml),
            ("shop.toml", toml),
            ("SHOP.TOML", toml),
        ] {
            assert_eq!(read(name, text).unwrap(), expected, "{name}");
        }
    }

    #[test]
    fn an_invalid_toml_overlay_is_reported_with_its_line() {
        for (text, message) in [
            (
                "[[operations]]\nmatch = \"a\"\nhid = true\n",
                "line 3: unknown field `hid`",
            ),
            ("[[operations]]\nmatch = é\n", "line 2: "),
            ("operations = 3\n", "line 1: "),
        ] {
            let refused = read_overlay(Path::new("a.toml"), text.as_bytes()).unwrap_err();
            assert!(refused.to_string().contains(message), "{refused}");
        }
        assert!(read_overlay(Path::new("a.toml"), b"a = \"\xff\"").is_err());
        let toml_named_yaml = "[[operations]]\nmatch = \"a\"\n";
        assert!(read_overlay(Path::new("a.yaml"), toml_named_yaml.as_bytes()).is_err());
    }

    #[test]
    fn a_file_up_to_the_limit_is_read() {
        for (length, read) in [
            (DOCUMENT_BYTES_LIMIT, true),
            (DOCUMENT_BYTES_LIMIT + 1, false),
        ] {
            let text = vec![b'\n'; length];
            assert_eq!(
                read_overlay(Path::new("a.toml"), &text).is_ok(),
                read,
                "{length}"
            );
        }
    }
}
