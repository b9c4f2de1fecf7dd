//! Tells a reported condition from one that a text only compares or looks for.

use std::sync::LazyLock;

use regex::Regex;

use super::Condition;

/// Words before a value that was expected or searched, in the same clause.
static COMPARISON: LazyLock<Regex> = LazyLock::new(|| {
    fixed(
        r"\b(?:expected|titled?|named|near|matching|(?:contain|includ|equal)(?:s|ing)?|assert(?:s|ed)?)\b:?[^.;:]*$|\bexpected\b.*\bgot\b[^.;:]*$",
    )
});

/// A timeout of waiting for something on a page that the input names.
static ELEMENT: LazyLock<Regex> = LazyLock::new(|| {
    fixed(
        r"\blocator\b|\bgetby[a-z]+\(|\bwaiting for (?:the )?(?:selector|element|locator|function)\b",
    )
});

/// Another explanation beside the missing permission: `does not exist or you do not have access`.
static ALTERNATIVE: LazyLock<Regex> = LazyLock::new(|| {
    fixed(r"\b(?:exists?|found|deleted|removed|archived|misspelled|wrong|private),? or\b")
});

fn fixed(pattern: &str) -> Regex {
    Regex::new(&format!("(?i){pattern}")).expect("a fixed pattern compiles")
}

/// Whether what follows is something that was expected, found or searched.
pub(super) fn is_compared(before: &str) -> bool {
    COMPARISON.is_match(before)
}

/// Whether a sentence with this condition is more likely about the input.
pub(super) fn is_about_input(condition: Condition, sentence: &str) -> bool {
    match condition {
        Condition::Timeout => ELEMENT.is_match(sentence),
        Condition::Forbidden => ALTERNATIVE.is_match(sentence),
        _ => false,
    }
}
