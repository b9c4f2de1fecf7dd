//! Guessing what a name was meant to be.

/// The most suggestions that are made.
pub const NEAREST_LIMIT: usize = 3;

/// How alike two names have to be, from 0 to 1, to be worth suggesting.
const LIKENESS_MIN: f64 = 0.55;
/// The longest name that is compared, in bytes; comparing takes time quadratic in it.
const COMPARED_BYTES_LIMIT: usize = 256;

/// The candidates most like a name, the best first, at most [`NEAREST_LIMIT`] of them.
///
/// ```
/// let names = ["fs/read", "fs/write", "http/call"];
/// assert_eq!(panpan_runtime::nearest("fs/raed", names), ["fs/read"]);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    if name.len() > COMPARED_BYTES_LIMIT {
        return Vec::new();
    }
    let mut scored: Vec<(f64, &str)> = candidates
        .into_iter()
        .map(|candidate| {
            (
                strsim::normalized_damerau_levenshtein(name, candidate),
                candidate,
            )
        })
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .collect();
    scored.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(right.1)));
    scored.truncate(NEAREST_LIMIT);
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_longer_than_the_limit_is_not_compared() {
        let longest = "a".repeat(COMPARED_BYTES_LIMIT);
        assert_eq!(nearest(&longest, [longest.as_str()]), [longest.as_str()]);
        let longer = "a".repeat(COMPARED_BYTES_LIMIT + 1);
        assert!(nearest(&longer, [longest.as_str()]).is_empty());
    }

    #[test]
    fn nothing_alike_gives_no_suggestion() {
        assert!(nearest("zzz", ["fs/read"]).is_empty());
    }
}
