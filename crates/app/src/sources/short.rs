//! The short form of a source, as a flag says it: `[NAMESPACE=]FILE[@URL]`.

use std::path::Path;

use panpan_upstream::Url;

use super::ServiceSource;

/// Whether a text names a description, and perhaps where its service is.
pub(crate) fn is_openapi(text: &str) -> bool {
    openapi(Path::new(""), text).is_some()
}

/// The source a text stands for, its file seen from a folder.
pub(crate) fn openapi(folder: &Path, text: &str) -> Option<ServiceSource> {
    let (namespace, rest) = match text.split_once('=') {
        Some((before, rest)) if is_namespace(before) => (Some(before), rest),
        _ => (None, text),
    };
    let (file, url) = match address(rest) {
        Some((file, url)) => (file, Some(Url::parse(url).ok().filter(is_service)?)),
        None => (rest, None),
    };
    if file.is_empty() {
        return None;
    }
    let is_named = namespace.is_some();
    let namespace = namespace.map_or_else(|| named_after(Path::new(file)), str::to_owned);
    Some(ServiceSource {
        is_named,
        ..ServiceSource::at(namespace, folder.join(file), url)
    })
}

/// The file before an address and the address; a file may have an at sign in its name.
fn address(text: &str) -> Option<(&str, &str)> {
    let schemes = ["@http://", "@https://"];
    let at = schemes.iter().filter_map(|it| text.rfind(it)).max()?;
    Some((&text[..at], &text[at + 1..]))
}

/// Whether a service can be asked at an address. A name or password in it would be refused with every
/// call; they are credentials.
pub(super) fn is_service(url: &Url) -> bool {
    let is_bare = url.username().is_empty() && url.password().is_none();
    is_bare && url.has_host() && matches!(url.scheme(), "http" | "https")
}

pub(super) fn is_namespace(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !text.is_empty() && text.bytes().all(is_part)
}

/// What the operations of a file are called that nobody gave a name.
pub(super) fn named_after(file: &Path) -> String {
    let stem = file.file_stem().and_then(|it| it.to_str());
    // Two endings, as in pets.openapi.yaml, say one thing.
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
    fn a_source_is_a_file_perhaps_with_a_name_and_an_address() {
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
            let source = openapi(Path::new(""), text);
            let found = source.as_ref().map(|it| {
                let url = it.url.as_ref().map(Url::as_str);
                (it.namespace.as_str(), it.file.to_str().unwrap(), url)
            });
            assert_eq!(found, expected, "{text}");
        }
    }
}
