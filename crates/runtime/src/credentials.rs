//! Credentials of an operation for its upstream.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use panpan_redact::{Redactor, Secret};

/// Secrets by name, set when an operation is registered.
///
/// They are never printed or serialised, are not part of any input, and are not passed to the operations
/// that it calls.
#[derive(Clone, Debug, Default)]
pub struct Credentials(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    secrets: BTreeMap<String, Secret<String>>,
    /// Recognises the secrets in every encoding; created with the first failure.
    redactor: OnceLock<Redactor>,
}

impl Credentials {
    /// A redactor that recognises them anywhere.
    pub(crate) fn redactor(&self) -> Redactor {
        let known = self.0.redactor.get_or_init(|| {
            let mut redactor = Redactor::new();
            self.teach(&mut redactor);
            redactor
        });
        known.clone()
    }

    /// Adds them to a redactor.
    pub fn teach(&self, redactor: &mut Redactor) {
        for secret in self.0.secrets.values() {
            redactor.learn_literal(secret.expose());
        }
    }

    /// These and other secrets with different names.
    #[must_use]
    pub fn and(&self, others: impl IntoIterator<Item = (String, Secret<String>)>) -> Self {
        let own = self.0.secrets.iter();
        let own = own.map(|(name, secret)| (name.clone(), secret.clone()));
        own.chain(others).collect()
    }

    /// The secret of this name.
    pub fn get(&self, name: &str) -> Option<&Secret<String>> {
        self.0.secrets.get(name)
    }
}

impl<N: Into<String>> FromIterator<(N, Secret<String>)> for Credentials {
    fn from_iter<I: IntoIterator<Item = (N, Secret<String>)>>(secrets: I) -> Self {
        let named = secrets
            .into_iter()
            .map(|(name, secret)| (name.into(), secret));
        Self(Arc::new(Inner {
            secrets: named.collect(),
            redactor: OnceLock::new(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_found_by_name_and_never_printed() {
        let secret = Secret::new("hunter2".to_owned());
        let credentials = Credentials::from_iter([("api", secret)]);
        assert_eq!(credentials.get("api").unwrap().expose(), "hunter2");
        assert!(credentials.get("other").is_none());
        assert!(!format!("{credentials:?}").contains("hunter2"));
    }
}
