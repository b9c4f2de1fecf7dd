//! Webhooks: where a message about a flow that rests is sent, and how it is signed.
//!
//! The headers are those of Standard Webhooks (`webhook-id`, `webhook-timestamp`, `webhook-signature`), so that receivers
//! can verify a message with the libraries for it.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use panpan_redact::Secret;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// The longest address of a webhook, in bytes.
pub const WEBHOOK_URL_BYTES_LIMIT: usize = 2048;

/// The lengths of a key, in bytes: those of Standard Webhooks.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// What a key may begin with.
const KEY_PREFIX: &str = "whsec_";

/// The key with which messages are signed. Its debug form does not show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookKey(Secret<Vec<u8>>);

impl WebhookKey {
    /// Reads a key of 24 to 64 bytes in base64, with or without `whsec_` before it.
    pub fn from_base64(text: &str) -> Option<Self> {
        let text = text.strip_prefix(KEY_PREFIX).unwrap_or(text);
        let key = BASE64_STANDARD.decode(text).ok()?;
        KEY_BYTES
            .contains(&key.len())
            .then(|| Self(Secret::new(key)))
    }

    /// The value of `webhook-signature` for a message.
    pub(crate) fn sign(&self, id: &str, timestamp: i64, body: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.expose())
            .expect("a key of HMAC can have any length");
        mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
        let signature = BASE64_STANDARD.encode(mac.finalize().into_bytes());
        format!("v1,{signature}")
    }
}

/// Where messages about a flow are sent. The address may contain a secret: neither the debug form nor a task object
/// shows more than its host.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Webhook {
    url: String,
}

impl Webhook {
    /// A webhook at an `http` or `https` address.
    pub(crate) fn new(url: &str) -> Option<Self> {
        let is_valid = url.len() <= WEBHOOK_URL_BYTES_LIMIT
            && url.bytes().all(|byte| byte.is_ascii_graphic())
            && origin(url).is_some_and(|(_, host)| !host.is_empty());
        let url = url.to_owned();
        is_valid.then_some(Self { url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The address without its path, its query and its credentials.
    pub(crate) fn shown(&self) -> String {
        let (scheme, host) = origin(&self.url).unwrap_or_default();
        format!("{scheme}://{host}/…")
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Webhook({})", self.shown())
    }
}

/// The scheme and the host of an address.
fn origin(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    ["http", "https"]
        .contains(&scheme)
        .then_some((scheme, host))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Standard Webhooks.
    #[test]
    fn a_message_is_signed_as_the_standard_says() {
        let key = WebhookKey::from_base64("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signature = key.sign(id, 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!(format!("{key:?}"), "WebhookKey([REDACTED])");
    }

    #[test]
    fn a_key_has_24_to_64_bytes() {
        for (bytes, is_key) in [(23, false), (24, true), (64, true), (65, false)] {
            let text = BASE64_STANDARD.encode(vec![7; bytes]);
            assert_eq!(WebhookKey::from_base64(&text).is_some(), is_key, "{bytes}");
        }
        assert_eq!(WebhookKey::from_base64("not base64, and long enough"), None);
    }

    #[test]
    fn only_the_host_of_an_address_is_shown() {
        for (url, shown) in [
            (
                "https://hooks.example.com/T0/secret?k=1",
                Some("https://hooks.example.com/…"),
            ),
            (
                "http://user:secret@a.example:8080",
                Some("http://a.example:8080/…"),
            ),
            ("https://", None),
            ("ftp://a.example", None),
            ("a.example/hook", None),
            ("https://a.example/\nhook", None),
        ] {
            let webhook = Webhook::new(url);
            assert_eq!(
                webhook.as_ref().map(Webhook::shown).as_deref(),
                shown,
                "{url}"
            );
            assert!(!format!("{webhook:?}").contains("secret"), "{url}");
        }
    }

    #[test]
    fn the_address_of_a_webhook_has_a_limit() {
        let start = "https://a.example/";
        for (length, is_valid) in [
            (WEBHOOK_URL_BYTES_LIMIT, true),
            (WEBHOOK_URL_BYTES_LIMIT + 1, false),
        ] {
            let url = format!("{start}{}", "a".repeat(length - start.len()));
            assert_eq!(Webhook::new(&url).is_some(), is_valid, "{length}");
        }
    }
}
