//! The settings of calls in the table of a source, each read for itself: what is wrong with one says
//! nothing about the next.

use std::num::NonZeroU64;

use panpan_contract::circuit::CircuitRule;
use panpan_contract::operation::{Outputs, Redaction};
use panpan_contract::retry::RetryRule;
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The table with settings of its own for some operations.
const OPERATIONS: &str = "operations";

/// A setting that will not do: its name, where it is written, and why.
pub(super) type Wrong = (String, usize, String);

/// A source without the settings of calls that will not do, and those.
pub(super) fn apart<'a>(source: &Spanned<DeValue<'a>>) -> (Spanned<DeValue<'a>>, Vec<Wrong>) {
    let mut source = source.clone();
    let mut wrong = Vec::new();
    if let DeValue::Table(table) = source.get_mut() {
        take_wrong(table, "", &mut wrong);
        for (name, value) in table.iter_mut() {
            if name.get_ref() == OPERATIONS
                && let DeValue::Table(operations) = value.get_mut()
            {
                each_operation(operations, &mut wrong);
            }
        }
    }
    (source, wrong)
}

fn each_operation(operations: &mut DeTable<'_>, wrong: &mut Vec<Wrong>) {
    for (pattern, settings) in operations.iter_mut() {
        if let DeValue::Table(settings) = settings.get_mut() {
            let place = format!("{OPERATIONS}.{}.", pattern.get_ref());
            take_wrong(settings, &place, wrong);
        }
    }
}

fn take_wrong(table: &mut DeTable<'_>, place: &str, wrong: &mut Vec<Wrong>) {
    let sound = std::mem::take(table).into_iter().filter(|(name, value)| {
        let Some((start, why)) = problem(name.get_ref(), value) else {
            return true;
        };
        wrong.push((format!("{place}{}", name.get_ref()), start, why));
        false
    });
    *table = sound.collect();
}

fn problem(name: &str, value: &Spanned<DeValue<'_>>) -> Option<(usize, String)> {
    match name {
        "timeout_ms" => refused::<NonZeroU64>(value),
        "retry" => refused::<RetryRule>(value),
        "patience_ms" => refused::<u64>(value),
        "circuit" => refused::<CircuitRule>(value),
        "outputs" => refused::<Outputs>(value),
        "redaction" => refused::<Redaction>(value),
        "key_argument" => refused::<bool>(value),
        _ => None,
    }
}

fn refused<T: DeserializeOwned>(value: &Spanned<DeValue<'_>>) -> Option<(usize, String)> {
    let error = T::deserialize(value.clone().into_deserializer()).err()?;
    let start = error.span().map_or(value.span().start, |span| span.start);
    Some((start, error.message().to_owned()))
}
