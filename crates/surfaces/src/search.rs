//! Search for operations by words.
//!
//! Operations that match more words come first; then a match in the name outranks one in the title, and that
//! one in the description. The order is stable, so a cursor can point into it.

use panpan_contract::operation::{OperationSpec, OperationType};
use serde_json::{Value, json};

/// Words of a query beyond this number are ignored.
pub(crate) const QUERY_WORDS_LIMIT: usize = 16;
/// Maximum number of operations in one result.
pub(crate) const RESULTS_LIMIT: usize = 1000;
/// Default number of operations in one result.
pub(crate) const RESULTS: usize = 20;
/// Maximum length of a description in a result.
const DESCRIPTION_CHARACTERS_LIMIT: usize = 300;

/// The score of a matched word; larger than any bonus for the matched field.
const WORD_SCORE: u32 = 100;

/// The searchable text of an operation, in lower case, and the description that results show.
#[derive(Debug)]
pub(crate) struct SearchEntry {
    name: String,
    title: String,
    description: String,
    op_type: OperationType,
    shown: String,
}

/// A position in the order of the results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    score: u32,
    name: String,
}

impl SearchEntry {
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

    /// The score for a query; zero if no word matches.
    fn score(&self, query: &[String]) -> u32 {
        let name = self.name.to_lowercase();
        let of_word = |word: &String| {
            let is_part = || {
                name.split(|it: char| !it.is_alphanumeric())
                    .any(|it| it == word)
            };
            match () {
                () if is_part() => WORD_SCORE + 8,
                () if name.contains(word.as_str()) => WORD_SCORE + 4,
                () if self.title.contains(word.as_str()) => WORD_SCORE + 2,
                () if self.description.contains(word.as_str()) => WORD_SCORE + 1,
                () => 0,
            }
        };
        query.iter().map(of_word).sum()
    }

    fn result(&self) -> Value {
        let namespace = self.name.split('/').next();
        let mut result =
            json!({"name": self.name, "namespace": namespace, "op_type": self.op_type});
        if !self.shown.is_empty() {
            result["description"] = json!(self.shown);
        }
        result
    }
}

/// The results of a query, best first, with the cursor of the next page.
pub(crate) fn search<'a>(
    entries: impl Iterator<Item = &'a SearchEntry>,
    query: &str,
    limit: usize,
    after: Option<&Cursor>,
) -> Value {
    let query = words(query);
    let mut found: Vec<(u32, &SearchEntry)> = entries
        .map(|entry| (entry.score(&query), entry))
        .filter(|(score, _)| query.is_empty() || *score > 0)
        .collect();
    found.sort_unstable_by(|(left, a), (right, b)| right.cmp(left).then(a.name.cmp(&b.name)));
    let matches = found.len();
    let rest: Vec<_> = found
        .into_iter()
        .filter(|(score, entry)| after.is_none_or(|cursor| cursor.is_before(*score, entry)))
        .collect();
    let page = &rest[..limit.min(rest.len())];
    let operations: Vec<Value> = page.iter().map(|(_, entry)| entry.result()).collect();
    let mut answer = json!({"operations": operations, "matches": matches});
    if let (true, Some((score, last))) = (page.len() < rest.len(), page.last()) {
        answer["next"] = json!(format!("{score}:{}", last.name));
    }
    answer
}

/// The distinct words of a query.
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
    /// Parses the `next` member of a result.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (score, name) = text.split_once(':')?;
        Some(Self {
            score: score.parse().ok()?,
            name: name.to_owned(),
        })
    }

    fn is_before(&self, score: u32, entry: &SearchEntry) -> bool {
        score < self.score || (score == self.score && entry.name > self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(name: &str, description: &str) -> SearchEntry {
        let mut spec = OperationSpec::new(name.parse().unwrap(), OperationType::Query);
        spec.description = Some(description.to_owned());
        SearchEntry::of(&spec)
    }

    fn shop() -> Vec<SearchEntry> {
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
    fn more_matched_words_come_first_then_names_before_descriptions() {
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
    fn an_empty_query_lists_all_operations_by_name() {
        let answer = search(shop().iter(), " ,", RESULTS, None);
        assert_eq!(answer["matches"], json!(4));
        assert_eq!(names(&answer)[0], "customers/get");
    }

    #[test]
    fn pages_continue_where_the_last_one_ended() {
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
        for invalid in ["", "7", "x:orders/get"] {
            assert_eq!(Cursor::parse(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn words_beyond_the_limit_are_ignored() {
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
