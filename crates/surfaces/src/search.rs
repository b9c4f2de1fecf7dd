//! Finding operations by words, for those who do not know their names.
//!
//! A word in the name counts most, then one in the title, then one in the description; operations that
//! have more of the words come first. The order is the same each time, so a cursor can name a place in it.

use panpan_contract::operation::{OperationSpec, OperationType};
use serde_json::{Value, json};

/// The most words of a query that are looked at.
pub(crate) const QUERY_WORDS_LIMIT: usize = 16;
/// The most operations in one answer.
pub(crate) const RESULTS_LIMIT: usize = 1000;
/// How many operations there are in one answer unless the caller says.
pub(crate) const RESULTS: usize = 20;
/// The longest description of an operation that was found.
const DESCRIPTION_CHARACTERS_LIMIT: usize = 300;

/// How much more a further word counts than any place a word may stand in.
const WORD: u32 = 100;

/// What an operation is found by, in lower case, and what is shown of it.
#[derive(Debug)]
pub(crate) struct Words {
    name: String,
    title: String,
    description: String,
    op_type: OperationType,
    shown: String,
}

/// A place in the order of what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    score: u32,
    name: String,
}

impl Words {
    pub(crate) fn of(spec: &OperationSpec) -> Self {
        let description = spec.description.as_deref().unwrap_or_default();
        let title = spec.title.as_deref().unwrap_or_default();
        let shown = if description.is_empty() {
            title
        } else {
            description
        };
        Self {
            name: spec.name.as_str().to_owned(),
            title: title.to_lowercase(),
            description: description.to_lowercase(),
            op_type: spec.op_type,
            shown: shown.chars().take(DESCRIPTION_CHARACTERS_LIMIT).collect(),
        }
    }

    /// How well it answers a query; zero when not at all.
    fn score(&self, query: &[String]) -> u32 {
        let name = self.name.to_lowercase();
        let of_word = |word: &String| {
            let is_part = || {
                name.split(|it: char| !it.is_alphanumeric())
                    .any(|it| it == word)
            };
            match () {
                () if is_part() => WORD + 8,
                () if name.contains(word.as_str()) => WORD + 4,
                () if self.title.contains(word.as_str()) => WORD + 2,
                () if self.description.contains(word.as_str()) => WORD + 1,
                () => 0,
            }
        };
        query.iter().map(of_word).sum()
    }

    fn shown(&self) -> Value {
        let namespace = self.name.split('/').next();
        let mut shown = json!({"name": self.name, "namespace": namespace, "op_type": self.op_type});
        if !self.shown.is_empty() {
            shown["description"] = json!(self.shown);
        }
        shown
    }
}

/// What a query finds, best first, and where to go on.
pub(crate) fn search<'a>(
    among: impl Iterator<Item = &'a Words>,
    query: &str,
    limit: usize,
    after: Option<&Cursor>,
) -> Value {
    let query = words(query);
    let mut found: Vec<(u32, &Words)> = among
        .map(|words| (words.score(&query), words))
        .filter(|(score, _)| query.is_empty() || *score > 0)
        .collect();
    found.sort_unstable_by(|(left, a), (right, b)| right.cmp(left).then(a.name.cmp(&b.name)));
    let matches = found.len();
    let left: Vec<_> = found
        .into_iter()
        .filter(|(score, words)| after.is_none_or(|cursor| cursor.is_before(*score, words)))
        .collect();
    let shown = &left[..limit.min(left.len())];
    let operations: Vec<Value> = shown.iter().map(|(_, words)| words.shown()).collect();
    let mut answer = json!({"operations": operations, "matches": matches});
    if let (true, Some((score, last))) = (shown.len() < left.len(), shown.last()) {
        answer["next"] = json!(format!("{score}:{}", last.name));
    }
    answer
}

/// The words of a query, each once.
fn words(query: &str) -> Vec<String> {
    let lower = query.to_lowercase();
    let mut words: Vec<String> = Vec::new();
    for word in lower.split(|it: char| !it.is_alphanumeric()) {
        let is_new = !word.is_empty() && !words.iter().any(|known| known == word);
        if is_new && words.len() < QUERY_WORDS_LIMIT {
            words.push(word.to_owned());
        }
    }
    words
}

impl Cursor {
    /// The place a `next` names.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (score, name) = text.split_once(':')?;
        Some(Self {
            score: score.parse().ok()?,
            name: name.to_owned(),
        })
    }

    fn is_before(&self, score: u32, words: &Words) -> bool {
        score < self.score || (score == self.score && words.name > self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(name: &str, description: &str) -> Words {
        let mut spec = OperationSpec::new(name.parse().unwrap(), OperationType::Query);
        spec.description = Some(description.to_owned());
        Words::of(&spec)
    }

    fn shop() -> Vec<Words> {
        vec![
            operation("orders/cancel", "Cancels an order."),
            operation("orders/get", "Gives one order of a customer."),
            operation("customers/get", "Gives one Customer."),
            operation("files/reorder", "Puts files into another order."),
        ]
    }

    fn names(answer: &Value) -> Vec<&str> {
        let operations = answer["operations"].as_array().unwrap();
        operations
            .iter()
            .map(|it| it["name"].as_str().unwrap())
            .collect()
    }

    #[test]
    fn what_has_more_of_the_words_comes_first_and_a_name_before_a_description() {
        let shop = shop();
        for (query, expected) in [
            (
                "orders get",
                vec!["orders/get", "customers/get", "orders/cancel"],
            ),
            ("CUSTOMER", vec!["customers/get", "orders/get"]),
            (
                "order",
                vec!["files/reorder", "orders/cancel", "orders/get"],
            ),
            ("nothing at all", vec![]),
        ] {
            let answer = search(shop.iter(), query, RESULTS, None);
            assert_eq!(names(&answer), expected, "{query}");
            assert_eq!(answer["matches"], json!(expected.len()));
        }
    }

    #[test]
    fn without_words_everything_comes_by_name() {
        let answer = search(shop().iter(), " ,", RESULTS, None);
        assert_eq!(answer["matches"], json!(4));
        assert_eq!(names(&answer)[0], "customers/get");
    }

    #[test]
    fn pages_follow_each_other_and_end() {
        let shop = shop();
        for query in ["", "order get"] {
            let whole = search(shop.iter(), query, RESULTS, None);
            assert!(whole.get("next").is_none());
            let (mut seen, mut cursor) = (Vec::new(), None);
            loop {
                let page = search(shop.iter(), query, 1, cursor.as_ref());
                seen.extend(names(&page).into_iter().map(str::to_owned));
                let Some(next) = page.get("next") else { break };
                cursor = Some(Cursor::parse(next.as_str().unwrap()).unwrap());
            }
            assert_eq!(seen, names(&whole), "{query}");
        }
        for none in ["", "7", "x:orders/get"] {
            assert_eq!(Cursor::parse(none), None, "{none}");
        }
    }

    #[test]
    fn only_so_many_words_are_looked_at() {
        let query = |filler: usize| {
            let mut words: Vec<String> = (0..filler).map(|it| format!("word{it}")).collect();
            words.push("cancel".to_owned());
            words.join(" ")
        };
        let found =
            |filler| search(shop().iter(), &query(filler), RESULTS, None)["matches"].clone();
        assert_eq!(found(QUERY_WORDS_LIMIT - 1), json!(1));
        assert_eq!(found(QUERY_WORDS_LIMIT), json!(0));
    }
}
