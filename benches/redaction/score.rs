//! The score of one part of the corpus: hidden secrets and unchanged innocents.

use std::collections::BTreeMap;
use std::sync::Arc;

use panpan_contract::operation::Redaction;
use panpan_redact::{REPLACEMENT, Redactor};
use serde_json::Value;

use super::behind;
use super::corpus::{self, Case};

/// A part of the corpus.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The part that rules are written against.
    Learned,
    /// The part that no rule was written against.
    HeldOut,
}

impl Part {
    fn files(self) -> (&'static str, &'static str) {
        match self {
            Part::Learned => ("secrets.jsonl", "innocents.jsonl"),
            Part::HeldOut => ("held-out-secrets.jsonl", "held-out-innocents.jsonl"),
        }
    }
}

/// The result for one part.
pub(crate) struct Score {
    /// By kind: the number of hidden secrets, and of all secrets.
    hidden: BTreeMap<String, (usize, usize)>,
    changed: usize,
    innocents: usize,
    seen_although_strict: usize,
    /// The mistakes, for authors of rules.
    wrong: Vec<String>,
}

impl Score {
    /// Sends the responses of a part through the gateway; if blind, scores them without redaction.
    pub(crate) async fn of(part: Part, is_blind: bool) -> Self {
        let (secrets, innocents) = part.files();
        let mut score = Self {
            hidden: BTreeMap::new(),
            changed: 0,
            innocents: 0,
            seen_although_strict: 0,
            wrong: Vec::new(),
        };
        let cases = Arc::new(corpus::read(secrets));
        let strict = behind::seen(&cases, Some(Redaction::Strict)).await;
        for (case, (seen, strict)) in cases
            .iter()
            .zip(behind::seen(&cases, None).await.iter().zip(&strict))
        {
            let seen = if is_blind { &case.text } else { seen };
            score.count_secrets(case, seen);
            score.seen_although_strict +=
                usize::from(case.secrets.iter().any(|it| strict.contains(it)));
        }
        let cases = Arc::new(corpus::read(innocents));
        for (case, seen) in cases.iter().zip(behind::seen(&cases, None).await) {
            score.count_innocent(case, &seen);
        }
        score
    }

    /// A secret is hidden if neither the gateway nor the rules alone, without the length limits of the gateway, let it
    /// through.
    fn count_secrets(&mut self, case: &Case, seen: &str) {
        let redacted = redacted(&case.text);
        for secret in &case.secrets {
            let is_hidden = !seen.contains(secret) && !redacted.contains(secret);
            let (hidden, all) = self.hidden.entry(case.kind.clone()).or_default();
            *hidden += usize::from(is_hidden);
            *all += 1;
            if !is_hidden {
                self.wrong
                    .push(format!("visible  {:<28} {secret:?} in {redacted}", case.id));
            }
        }
    }

    fn count_innocent(&mut self, case: &Case, seen: &str) {
        let redacted = redacted(&case.text);
        let is_whole = !redacted.contains(REPLACEMENT) && !seen.contains(REPLACEMENT)
            || case.text.contains(REPLACEMENT);
        self.innocents += 1;
        self.changed += usize::from(!is_whole);
        if !is_whole {
            self.wrong
                .push(format!("changed  {:<28} {redacted}", case.id));
        }
    }

    pub(crate) fn kinds(&self) -> Vec<String> {
        self.hidden.keys().cloned().collect()
    }

    pub(crate) fn of_kind(&self, kind: &str) -> String {
        let (hidden, all) = self.hidden.get(kind).copied().unwrap_or_default();
        share(hidden, all)
    }

    pub(crate) fn hidden(&self) -> String {
        let (hidden, all) = self.sum();
        share(hidden, all)
    }

    /// The fraction of the secrets that stayed hidden.
    pub(crate) fn recall(&self) -> f64 {
        let (hidden, all) = self.sum();
        hidden as f64 / all as f64
    }

    pub(crate) fn changed(&self) -> String {
        format!("{} of {}", self.changed, self.innocents)
    }

    /// The fraction of the redacted values that were secrets.
    pub(crate) fn precision(&self) -> String {
        let hidden = self.sum().0;
        format!("{:.3}", hidden as f64 / (hidden + self.changed) as f64)
    }

    pub(crate) fn strict(&self) -> String {
        self.seen_although_strict.to_string()
    }

    pub(crate) fn is_innocent(&self) -> bool {
        self.changed == 0
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.seen_although_strict == 0
    }

    pub(crate) fn wrong(&self) -> &[String] {
        &self.wrong
    }

    fn sum(&self) -> (usize, usize) {
        let add = |(hidden, all), (more, of): &(usize, usize)| (hidden + more, all + of);
        self.hidden.values().fold((0, 0), add)
    }
}

fn share(hidden: usize, all: usize) -> String {
    format!(
        "{hidden} of {all} ({:.0} %)",
        100.0 * hidden as f64 / all.max(1) as f64
    )
}

/// The response after redaction: as JSON if it is JSON, else as text.
fn redacted(text: &str) -> String {
    let mut redactor = Redactor::new();
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) if value.is_object() || value.is_array() => {
            redactor.learn_value(&value, None);
            redactor.value(&mut value);
            value.to_string()
        }
        _ => redactor.text(text).into_owned(),
    }
}
