//! The short form of a described service, as in a flag: `[NAMESPACE=]FILE[@URL]`.

use std::path::Path;

use panpan_upstream::Url;

use super::ServiceSource;

/// Parses the short form of a service; its file is relative to the folder.
pub(crate) fn parse_service(folder: &Path, text: &str) -> Option<ServiceSource> {
    let (namespace, rest) = split_namespace(text);
    let (file, url) = match split_url(rest) {
        Some((file, url)) => (file, Some(parse_url(url)?)),
        None => (rest, None),
    };
    if file.is_empty() {
        return None;
    }
    let source = ServiceSource {
        namespace: namespace.unwrap_or_default().to_owned(),
        file: file.into(),
        url,
        ..ServiceSource::default()
    };
    Some(source.resolve(folder))
}

/// Splits a text into an optional namespace and the rest.
pub(super) fn split_namespace(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((before, rest)) if is_namespace(before) => (Some(before), rest),
        _ => (None, text),
    }
}

/// Splits a text into file and URL; the name of a file may contain an at sign.
fn split_url(text: &str) -> Option<(&str, &str)> {
    let schemes = ["@http://", "@https://"];
    let at = schemes.iter().filter_map(|it| text.rfind(it)).max()?;
    Some((&text[..at], &text[at + 1..]))
}

/// The URL of a service or server: HTTP or HTTPS, without credentials, which every call would refuse.
pub(super) fn parse_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let has_no_credentials = url.username().is_empty() && url.password().is_none();
    let is_http = url.has_host() && matches!(url.scheme(), "http" | "https");
    (has_no_credentials && is_http).then_some(url)
}

pub(super) fn is_namespace(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !text.is_empty() && text.bytes().all(is_part)
}

/// The default namespace of the operations in a file.
pub(super) fn namespace_of(file: &Path) -> String {
    let stem = file.file_stem().and_then(|it| it.to_str());
    // Files such as pets.openapi.yaml have two extensions.
    let stem = stem.unwrap_or_default().split('.').next();
    let kept = |each: char| match each {
        each if each.is_ascii_alphanumeric() => each.to_ascii_lowercase(),
        _ => '_',
    };
    let name: String = stem.unwrap_or_default().chars().map(kept).collect();
    match name.trim_matches('_') {
        "" => "service".to_owned(),
        name if name.starts_with(|first: char| first.is_ascii_digit()) => format!("service_{name}"),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_a_file_with_an_optional_namespace_and_url() {
        for (text, expected) in [
            ("pets.yaml", Some(("pets", "pets.yaml", None))),
            (
                "a/My Pets.v2.json",
                Some(("my_pets", "a/My Pets.v2.json", None)),
            ),
            ("shop=pets.yaml", Some(("shop", "pets.yaml", None))),
            (
                "shop=pets.yaml@https://api.example.com/v1",
                Some(("shop", "pets.yaml", Some("https://api.example.com/v1"))),
            ),
            (
                "me@home/3d.yaml@http://127.0.0.1:80",
                Some(("service_3d", "me@home/3d.yaml", Some("http://127.0.0.1/"))),
            ),
            ("a.b=c.yaml", Some(("a", "a.b=c.yaml", None))),
            ("", None),
            ("shop=", None),
            ("pets.yaml@https://", None),
            ("pets.yaml@https://me:hunter2@api.example.com", None),
        ] {
            let source = parse_service(Path::new(""), text);
            let found = source.as_ref().map(|it| {
                let url = it.url.as_ref().map(Url::as_str);
                (it.namespace.as_str(), it.file.to_str().unwrap(), url)
            });
            assert_eq!(found, expected, "{text}");
        }
    }
}
