//! The call settings in the table of a source. Each is checked on its own, so that all invalid ones are reported.

use std::num::NonZeroU64;

use panpan_contract::circuit::CircuitRule;
use panpan_contract::operation::{Outputs, Redaction, TaskUse};
use panpan_contract::retry::RetryRule;
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The table with the settings of single operations.
const OPERATIONS: &str = "operations";

/// An invalid setting: its name, its byte offset, and the reason.
pub(super) type Invalid = (String, usize, String);

/// Separates the invalid call settings from the table of a source.
pub(super) fn split_invalid<'a>(
    source: &Spanned<DeValue<'a>>,
) -> (Spanned<DeValue<'a>>, Vec<Invalid>) {
    let mut source = source.clone();
    let mut invalid = Vec::new();
    if let DeValue::Table(table) = source.get_mut() {
        take_invalid(table, "", &mut invalid);
        for (name, value) in table.iter_mut() {
            if name.get_ref() == OPERATIONS
                && let DeValue::Table(operations) = value.get_mut()
            {
                take_from_operations(operations, &mut invalid);
            }
        }
    }
    (source, invalid)
}

fn take_from_operations(operations: &mut DeTable<'_>, invalid: &mut Vec<Invalid>) {
    for (pattern, settings) in operations.iter_mut() {
        if let DeValue::Table(settings) = settings.get_mut() {
            let prefix = format!("{OPERATIONS}.{}.", pattern.get_ref());
            take_invalid(settings, &prefix, invalid);
        }
    }
}

fn take_invalid(table: &mut DeTable<'_>, prefix: &str, invalid: &mut Vec<Invalid>) {
    let valid = std::mem::take(table).into_iter().filter(|(name, value)| {
        let Some((start, reason)) = problem(name.get_ref(), value) else {
            return true;
        };
        invalid.push((format!("{prefix}{}", name.get_ref()), start, reason));
        false
    });
    *table = valid.collect();
}

fn problem(name: &str, value: &Spanned<DeValue<'_>>) -> Option<(usize, String)> {
    match name {
        "timeout_ms" => error::<NonZeroU64>(value),
        "retry" => error::<RetryRule>(value),
        "patience_ms" => error::<u64>(value),
        "circuit" => error::<CircuitRule>(value),
        "outputs" => error::<Outputs>(value),
        "redaction" => error::<Redaction>(value),
        "key_argument" => error::<bool>(value),
        "task" => error::<TaskUse>(value),
        _ => None,
    }
}

fn error<T: DeserializeOwned>(value: &Spanned<DeValue<'_>>) -> Option<(usize, String)> {
    let error = T::deserialize(value.clone().into_deserializer()).err()?;
    let start = error.span().map_or(value.span().start, |span| span.start);
    Some((start, error.message().to_owned()))
}
