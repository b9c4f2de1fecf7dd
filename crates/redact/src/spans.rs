//! Collects the byte ranges of a text that must be removed, and replaces them in one pass. The
//! rules decide what is a secret.

use std::ops::Range;

use super::REPLACEMENT;

/// Byte ranges of one text, in any order; they may overlap.
#[derive(Default)]
pub(super) struct Spans(Vec<Range<usize>>);

impl Spans {
    pub(super) fn push(&mut self, span: Range<usize>) {
        if span.start < span.end {
            self.0.push(span);
        }
    }

    /// The ranges, as they were found.
    pub(super) fn ranges(self) -> impl Iterator<Item = Range<usize>> {
        self.0.into_iter()
    }

    /// The text without its spans, or `None` if every span is already replaced.
    pub(super) fn cut(self, text: &str) -> Option<String> {
        let merged = self.merged(text);
        if merged.iter().all(|span| &text[span.clone()] == REPLACEMENT) {
            return None;
        }
        let mut kept = String::with_capacity(text.len());
        let mut from = 0;
        for span in merged {
            kept.push_str(&text[from..span.start]);
            kept.push_str(REPLACEMENT);
            from = span.end;
        }
        kept.push_str(&text[from..]);
        Some(kept)
    }

    fn merged(mut self, text: &str) -> Vec<Range<usize>> {
        self.0.sort_unstable_by_key(|span| (span.start, span.end));
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(self.0.len());
        for span in self.0 {
            let span = text.floor_char_boundary(span.start)..text.ceil_char_boundary(span.end);
            match merged.last_mut() {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => merged.push(span),
            }
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, ranges: &[(usize, usize)], expected: Option<&str>) {
        let mut spans = Spans::default();
        for (start, end) in ranges {
            spans.push(*start..*end);
        }
        assert_eq!(spans.cut(text).as_deref(), expected);
    }

    #[test]
    fn overlapping_and_touching_spans_become_one_replacement() {
        check("abcdefgh", &[(4, 6), (1, 3), (2, 4)], Some("a[REDACTED]gh"));
        check(
            "abcdefgh",
            &[(0, 1), (6, 8)],
            Some("[REDACTED]bcdef[REDACTED]"),
        );
    }

    #[test]
    fn a_span_that_splits_a_character_takes_the_whole_character() {
        check("a\u{e9}b", &[(2, 3)], Some("a[REDACTED]b"));
    }

    #[test]
    fn an_already_replaced_span_changes_nothing() {
        check("x [REDACTED] y", &[(2, 12)], None);
        check("x", &[], None);
    }
}
