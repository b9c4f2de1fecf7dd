//! Suggestions for misspelt names of codes, operations, members and attributes.

/// The maximum number of suggestions.
pub const NEAREST_LIMIT: usize = 3;
/// The longest name that is compared, in characters; a comparison takes quadratic time.
const COMPARED_CHARACTERS_LIMIT: usize = 256;

/// The shortest common beginning that counts as a match.
const BEGINNING_CHARACTERS_MIN: usize = 4;

/// The candidates that a name most likely means, best first, at most [`NEAREST_LIMIT`] of them.
///
/// Case and separators are ignored, as they are the most common mistakes. A few letters may differ,
/// more in a longer name.
///
/// ```
/// let names = ["fs/read", "fs/write", "http/call"];
/// assert_eq!(panpan_catalogue::nearest("fs/raed", names), ["fs/read"]);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let Some(name) = folded(name) else {
        return Vec::new();
    };
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| Some((likeness(&name, &folded(candidate)?)?, candidate)))
        .collect();
    near.sort();
    near.truncate(NEAREST_LIMIT);
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

/// The distance of a name from a candidate, if they are near enough: a few letters apart, or one is
/// the beginning of the other.
fn likeness(name: &[char], candidate: &[char]) -> Option<usize> {
    let limit = 1 + candidate.len() / 5;
    let distance = distance(name, candidate);
    let begins = name.len().min(candidate.len()) >= BEGINNING_CHARACTERS_MIN
        && (name.starts_with(candidate) || candidate.starts_with(name));
    (distance <= limit || begins).then_some(distance.min(limit + 1))
}

/// The letters and digits of a name; `None` if there are none or too many.
fn folded(name: &str) -> Option<Vec<char>> {
    let letters = name.chars().filter(|character| character.is_alphanumeric());
    let folded: Vec<char> = letters
        .flat_map(char::to_lowercase)
        .take(COMPARED_CHARACTERS_LIMIT + 1)
        .collect();
    (!folded.is_empty() && folded.len() <= COMPARED_CHARACTERS_LIMIT).then_some(folded)
}

/// The number of letters to add, drop, replace or swap with their neighbour.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    for i in 0..=left.len() {
        for j in 0..=right.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let changed = usize::from(left[i - 1] != right[j - 1]);
                let swapped =
                    i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
                let edits = [
                    rows[i - 1][j] + 1,
                    rows[i][j - 1] + 1,
                    rows[i - 1][j - 1] + changed,
                ];
                let swap = if swapped {
                    rows[i - 2][j - 2] + 1
                } else {
                    usize::MAX
                };
                edits.into_iter().fold(swap, usize::min)
            };
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_get_suggestions_and_unrelated_names_get_none() {
        let names = [
            "wait",
            "change_input",
            "change_state",
            "op_type",
            "timeout_ms",
            "ERR_TIMEOUT",
        ];
        for (name, near) in [
            ("Wait", &["wait"][..]),
            ("changeInput", &["change_input"]),
            ("change-stat", &["change_state"]),
            ("opType", &["op_type"]),
            ("op_tpye", &["op_type"]),
            ("ERR_TIMEOT", &["ERR_TIMEOUT"]),
            ("timeout", &["timeout_ms", "ERR_TIMEOUT"]),
            ("op_types_all", &["op_type"]),
            ("retry", &[]),
            ("", &[]),
            ("___", &[]),
        ] {
            assert_eq!(nearest(name, names), near, "{name:?}");
        }
    }

    #[test]
    fn letters_are_counted_once_each() {
        let characters = |text: &str| text.chars().collect::<Vec<_>>();
        for (left, right, expected) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("abc", "ab", 1),
            ("abc", "xbz", 2),
            ("", "ab", 2),
        ] {
            assert_eq!(
                distance(&characters(left), &characters(right)),
                expected,
                "{left} {right}"
            );
        }
    }

    #[test]
    fn a_name_longer_than_the_limit_is_not_compared() {
        let longest = "a".repeat(COMPARED_CHARACTERS_LIMIT);
        assert_eq!(nearest(&longest, [longest.as_str()]), [longest.as_str()]);
        assert!(nearest(&format!("{longest}a"), [longest.as_str()]).is_empty());
    }
}
