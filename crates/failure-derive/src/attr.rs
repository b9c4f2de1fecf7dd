//! The parsed attributes of an enum, a variant and a field, with their tokens.
//! Checks only their syntax; `valid` checks whether they are allowed.

use panpan_catalogue::{Category, Effect, Remedy};
use proc_macro2::Ident;
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Meta, Path};

use crate::items::{Item, Items, Parsed};
use crate::problems::Problems;
use crate::value::{self, Vocabulary, Word, number, word};

const CATEGORIES: Vocabulary<Category> = Vocabulary {
    noun: "category",
    all: Category::ALL,
    word: Category::word,
};
const REMEDIES: Vocabulary<Remedy> = Vocabulary {
    noun: "remedy",
    all: Remedy::ALL,
    word: Remedy::word,
};
const EFFECTS: Vocabulary<Effect> = Vocabulary {
    noun: "effect",
    all: Effect::ALL,
    word: Effect::word,
};

/// The attributes of the enum.
#[derive(Clone, Default)]
pub(crate) struct EnumAttributes {
    /// Whether `Display` and `Error` are not derived.
    pub(crate) no_display: bool,
    /// The path of `panpan_failure`.
    pub(crate) krate: Option<Path>,
}

/// The attributes of a variant.
#[derive(Default)]
pub(crate) struct VariantAttributes {
    pub(crate) code: Option<Parsed<Word>>,
    pub(crate) category: Option<Parsed<Category>>,
    pub(crate) http: Option<Parsed<u16>>,
    pub(crate) retryable: Option<Parsed<bool>>,
    pub(crate) remedy: Option<Parsed<Vec<Remedy>>>,
    pub(crate) effect: Option<Parsed<Effect>>,
    pub(crate) jsonrpc: Option<Parsed<i64>>,
    pub(crate) description: Option<Parsed<LitStr>>,
    pub(crate) message: Option<Parsed<LitStr>>,
    pub(crate) retry_after_ms: Option<Parsed<u64>>,
    pub(crate) actions: Option<Parsed<Vec<LitStr>>>,
    pub(crate) alternatives: Option<Parsed<Vec<LitStr>>>,
    pub(crate) transparent: Option<Parsed<()>>,
    /// The names of all items, as written.
    pub(crate) names: Vec<Ident>,
    /// Whether some items could not be parsed.
    pub(crate) malformed: bool,
}

/// The attributes of a field.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    /// The field is the delay.
    pub(crate) retry_after_ms: Option<Parsed<()>>,
    /// The field is not in the details.
    pub(crate) skip: Option<Parsed<()>>,
    /// The field is the underlying error.
    pub(crate) source: Option<Parsed<()>>,
    /// The name of the field in the details.
    pub(crate) rename: Option<Parsed<LitStr>>,
    /// The names of all items, as written.
    pub(crate) names: Vec<Ident>,
}

impl EnumAttributes {
    /// Parses the attributes.
    pub(crate) fn of(attributes: &[Attribute], problems: &mut Problems) -> Self {
        read(attributes, Self::take, problems).0
    }

    fn take(items: &mut Items, problems: &mut Problems) -> Self {
        Self {
            no_display: items
                .take(&["no_display"], problems, value::no_value)
                .is_some(),
            krate: items
                .take(&["crate"], problems, value::path)
                .and_then(|parsed| parsed.value),
        }
    }
}

impl VariantAttributes {
    /// Parses the attributes.
    pub(crate) fn of(attributes: &[Attribute], problems: &mut Problems) -> Self {
        let (read, names) = read(attributes, Self::take, problems);
        Self { names, ..read }
    }

    fn take(items: &mut Items, problems: &mut Problems) -> Self {
        Self {
            code: items.take(&["code"], problems, |it| word(it, "\"FILE_NOT_FOUND\"")),
            category: items.take(&["category"], problems, |it| CATEGORIES.read(it)),
            http: items.take(&["http"], problems, |it| {
                number(it, "404", "a status from 400 to 599")
            }),
            retryable: items.take(&["retryable"], problems, value::flag),
            remedy: items.take(&["remedy"], problems, remedies),
            effect: items.take(&["effect"], problems, |it| EFFECTS.read(it)),
            jsonrpc: items.take(&["jsonrpc"], problems, |it| {
                number(it, "1000", "a number from 1000")
            }),
            description: items.take(&["description"], problems, value::text),
            message: items.take(&["message"], problems, value::text),
            retry_after_ms: items.take(&["retry_after_ms"], problems, |it| {
                number(it, "2000", "a number of milliseconds from 0")
            }),
            actions: items.take(&["action", "actions"], problems, value::texts),
            alternatives: items.take(&["alternative", "alternatives"], problems, value::texts),
            transparent: items.take(&["transparent"], problems, value::no_value),
            names: Vec::new(),
            malformed: items.malformed,
        }
    }
}

impl FieldAttributes {
    /// Parses the attributes.
    pub(crate) fn of(attributes: &[Attribute], problems: &mut Problems) -> Self {
        let (read, names) = read(attributes, Self::take, problems);
        Self { names, ..read }
    }

    fn take(items: &mut Items, problems: &mut Problems) -> Self {
        Self {
            retry_after_ms: items.take(&["retry_after_ms"], problems, value::no_value),
            skip: items.take(&["skip"], problems, value::no_value),
            source: items.take(&["source"], problems, value::no_value),
            rename: items.take(&["rename"], problems, value::text),
            names: Vec::new(),
        }
    }
}

/// The first paragraph of a doc comment, on one line. A single sentence loses its full stop, because it is used
/// as a title.
pub(crate) fn first_paragraph(attributes: &[Attribute]) -> Option<String> {
    let lines = attributes.iter().filter_map(doc_text);
    let text = lines.collect::<Vec<_>>().join("\n");
    let paragraph: Vec<_> = text
        .trim()
        .lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let paragraph = paragraph.join(" ");
    let sentence = paragraph
        .strip_suffix('.')
        .filter(|sentence| !sentence.contains(". ") && !sentence.ends_with('.'));
    let text = sentence.unwrap_or(&paragraph);
    (!text.is_empty()).then(|| text.to_owned())
}

/// Reads the items of one target and refuses all others. Returns the names as written, too.
fn read<T>(
    attributes: &[Attribute],
    take: fn(&mut Items, &mut Problems) -> T,
    problems: &mut Problems,
) -> (T, Vec<Ident>) {
    let mut items = Items::of(attributes, problems);
    let read = take(&mut items, problems);
    // An item that this target takes is never left over, so its own names do no harm here.
    let targets = [
        (names(VariantAttributes::take), "a variant"),
        (names(FieldAttributes::take), "a field"),
        (names(EnumAttributes::take), "the enum"),
    ];
    let names = items.finish(&targets, problems);
    (read, names)
}

/// The names that `take` asks for, found by running it without items.
fn names<T>(take: fn(&mut Items, &mut Problems) -> T) -> Vec<&'static str> {
    let mut items = Items::default();
    take(&mut items, &mut Problems::default());
    items.names()
}

fn remedies(item: &Item) -> syn::Result<Vec<Remedy>> {
    let words = value::words(item)?;
    if words.is_empty() {
        return Err(item.error(
            "a failure needs a next step; name at least one remedy, or leave `remedy` out",
        ));
    }
    let mut found = Vec::new();
    let mut problem: Option<syn::Error> = None;
    for word in &words {
        match (REMEDIES.find(word), &mut problem) {
            (Ok(remedy), _) => found.push(remedy),
            (Err(error), Some(earlier)) => earlier.combine(error),
            (Err(error), none) => *none = Some(error),
        }
    }
    problem.map_or(Ok(found), Err)
}

fn doc_text(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else {
        return None;
    };
    match &pair.value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) if pair.path.is_ident("doc") => Some(text.value()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn a_description_is_the_first_paragraph_of_the_doc_comment() {
        for (text, expected) in [
            ("", None),
            (" One sentence.", Some("One sentence")),
            (" Two. Sentences.", Some("Two. Sentences.")),
            (" Over\n two lines.\n\n More.", Some("Over two lines")),
            (" And so on...", Some("And so on...")),
        ] {
            let attribute: Attribute = parse_quote!(#[doc = #text]);
            assert_eq!(
                first_paragraph(&[attribute]).as_deref(),
                expected,
                "{text:?}"
            );
        }
    }
}
