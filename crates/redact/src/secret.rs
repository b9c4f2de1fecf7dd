//! A value that is neither printed nor serialised, and is wiped when it is dropped.
//!
//! It is for values that are known to be secret, such as configured credentials. Secrets inside a
//! failure are found by redaction.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// A value that can be read only through [`Secret::expose`].
///
/// It deserialises from a configuration, prints as `[REDACTED]`, and is overwritten when dropped.
/// Copies made before it became a `Secret` (by a parser, by a growing buffer) are not overwritten.
///
/// ```
/// use panpan_redact::Secret;
///
/// let token: Secret<String> = serde_json::from_str("\"sk-1234\"").unwrap();
/// assert_eq!(format!("{token:?}"), "[REDACTED]");
/// assert_eq!(token.expose(), "sk-1234");
/// ```
///
/// It cannot be serialised:
///
/// ```compile_fail,E0277
/// let token = panpan_redact::Secret::new(String::from("sk-1234"));
/// serde_json::to_string(&token).unwrap();
/// ```
///
/// It cannot be displayed:
///
/// ```compile_fail,E0277
/// let token = panpan_redact::Secret::new(String::from("sk-1234"));
/// println!("{token}");
/// ```
pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
    /// Wraps a value that must stay secret.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value. The caller is responsible for where it goes.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: Zeroize> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Zeroize + Clone> Clone for Secret<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(crate::REPLACEMENT)
    }
}

/// Compares in constant time for values of the same length.
impl<T: Zeroize + AsRef<[u8]>> PartialEq for Secret<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_ref().ct_eq(other.0.as_ref()).into()
    }
}

impl<T: Zeroize + AsRef<[u8]>> Eq for Secret<T> {}

impl<'de, T: Zeroize + Deserialize<'de>> Deserialize<'de> for Secret<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The error of the inner type may quote the rejected value.
        T::deserialize(deserializer)
            .map(Self)
            .map_err(|_| D::Error::custom("a secret has the wrong type or format"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_secret_prints_as_redacted() {
        let secret = Secret::new(String::from("hunter2"));
        assert_eq!(format!("{secret:?} {:#?}", Some(&secret)), {
            let some = "Some(\n    [REDACTED],\n)";
            format!("[REDACTED] {some}")
        });
    }

    #[test]
    fn a_rejected_secret_is_not_quoted() {
        for text in ["\"hunter2\"", "[\"hunter2\"]", "-12345"] {
            let error = serde_json::from_str::<Secret<u8>>(text).unwrap_err();
            let error = error.to_string();
            assert!(error.starts_with("a secret has the wrong type"), "{error}");
            assert!(!error.contains("hunter2") && !error.contains("12345"));
        }
    }

    #[test]
    fn secrets_are_equal_if_their_bytes_are() {
        let secret = |text: &str| Secret::new(text.to_owned());
        assert_eq!(secret("abc"), secret("abc"));
        for other in ["", "ab", "abd", "abcd"] {
            assert_ne!(secret("abc"), secret(other));
        }
    }

    #[test]
    fn a_dropped_secret_is_wiped() {
        static WIPED: AtomicBool = AtomicBool::new(false);
        struct Probe;
        impl Zeroize for Probe {
            fn zeroize(&mut self) {
                WIPED.store(true, Ordering::SeqCst);
            }
        }
        drop(Secret::new(Probe));
        assert!(WIPED.load(Ordering::SeqCst));
    }
}
