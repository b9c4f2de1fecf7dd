//! Making ready to ask: which addresses are taken, and what is presented there.
//!
//! The address was written by whoever runs this program, so that any host will do.

use std::sync::Arc;
use std::time::Duration;

use http::header::HeaderValue;
use panpan_redact::Secret;
use url::Url;

use crate::wire::{self, Resolver, SetupError, SystemLookup, Wire};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);

/// Why a panpan cannot be asked with these settings.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The text is no URL. It is not repeated: it may hold a password.
    #[error("the address of the server is no URL ({0}); write it as in http://127.0.0.1:7077")]
    Url(String),
    /// Another scheme than HTTP's.
    #[error("{0}: is no way to ask a server; write http:// or https://")]
    Scheme(String),
    /// A name or password, a query or a fragment.
    #[error("the address of the server may hold no {0}")]
    Extra(&'static str),
    /// The token holds what no header may.
    #[error("the token holds characters no token has, such as a line break")]
    Token,
    /// The client cannot be set up.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

/// The address everything is asked below, with a path that ends in a slash.
pub(super) fn base(text: &str) -> Result<Url, RemoteError> {
    let mut url = Url::parse(text).map_err(|error| RemoteError::Url(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(RemoteError::Scheme(url.scheme().to_owned()));
    }
    for (extra, is_there) in [
        (
            "name or password",
            !url.username().is_empty() || url.password().is_some(),
        ),
        ("query", url.query().is_some()),
        ("fragment", url.fragment().is_some()),
    ] {
        if is_there {
            return Err(RemoteError::Extra(extra));
        }
    }
    let path = format!("{}/", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

/// A path below the address.
pub(super) fn below(base: &Url, name: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{name}", base.path()));
    url
}

/// The header that presents a token; no log shows its value.
pub(super) fn bearer(token: &Secret<String>) -> Result<HeaderValue, RemoteError> {
    let text = format!("Bearer {}", token.expose());
    let mut value = HeaderValue::from_str(&text).map_err(|_| RemoteError::Token)?;
    value.set_sensitive(true);
    Ok(value)
}

pub(crate) fn wire(url: &Url, ca: Option<&[u8]>, timeout: Duration) -> Result<Wire, SetupError> {
    let tls = if url.scheme() == "https" {
        wire::trusting(ca)?
    } else {
        wire::trusting_nobody()?
    };
    let resolver = Resolver::trusting(Arc::new(SystemLookup));
    Ok(Wire::new(tls, resolver, CONNECT.min(timeout)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_with_and_without_a_path() {
        for (text, called) in [
            ("http://127.0.0.1:7077", "http://127.0.0.1:7077/call"),
            ("http://127.0.0.1:7077/", "http://127.0.0.1:7077/call"),
            (
                "https://tools.example/panpan",
                "https://tools.example/panpan/call",
            ),
            (
                "https://tools.example/a/b//",
                "https://tools.example/a/b/call",
            ),
        ] {
            assert_eq!(below(&base(text).unwrap(), "call").as_str(), called);
        }
    }

    #[test]
    fn other_addresses_are_refused_and_no_password_is_repeated() {
        for (text, said) in [
            ("127.0.0.1:7077", "no URL"),
            ("localhost:7077", "localhost: is no way to ask"),
            ("ftp://tools.example", "ftp: is no way to ask"),
            ("http://", "no URL"),
            ("http://me:hunter2@tools.example", "no name or password"),
            ("http://me:hunter2@", "no URL"),
            ("http://tools.example?token=hunter2", "no query"),
            ("http://tools.example#hunter2", "no fragment"),
        ] {
            let error = base(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_token_no_header_can_carry_is_refused() {
        assert!(bearer(&Secret::new("pp_1234".to_owned())).is_ok());
        let broken = bearer(&Secret::new("pp\r\nHost: evil".to_owned()));
        assert!(matches!(broken, Err(RemoteError::Token)));
    }
}
