//! The queries that a path consists of, and an upper bound for their work.
//!
//! Expects paths that the library has accepted.

/// A query of a path, with its nested queries.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Outline {
    /// Whether it starts at the root of the document.
    absolute: bool,
    /// Whether it can select more than one value.
    many: bool,
    /// The number of descendant segments.
    descents: i32,
    /// How often several selectors can select the same value.
    repeats: f64,
    /// The queries in its filters.
    inner: Vec<Outline>,
}

impl Outline {
    /// Reads a path.
    pub(super) fn of(path: &str) -> Self {
        let mut reader = Reader::default();
        let mut characters = path.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\'' | '"' => skip_string(&mut characters, character),
                '.' if characters.next_if_eq(&'.').is_some() => reader.descend(),
                other => reader.take(other),
            }
        }
        reader.finish()
    }

    /// Whether it selects at most one value, whatever the data.
    pub(super) fn is_singular(&self) -> bool {
        !self.many
    }

    /// The maximum number of visited values in a document of this size and depth.
    pub(super) fn work(&self, steps: usize, depth: usize) -> f64 {
        self.work_from(1.0, steps as f64, depth.max(1) as f64)
    }

    fn work_from(&self, starts: f64, steps: f64, depth: f64) -> f64 {
        let visited = starts * self.visited_once(steps, depth);
        let inner = self.inner.iter();
        visited
            + inner.fold(0.0, |sum, query| {
                sum + query.work_from(visited, steps, depth)
            })
    }

    /// The visited values per start. Queries that start at the values of a filter together visit every value once
    /// for each of its ancestors, and so does comparing whole values.
    fn visited_once(&self, steps: f64, depth: f64) -> f64 {
        let below = if self.absolute { steps } else { depth };
        match (self.many, self.absolute) {
            (true, _) => below * self.repeats * depth.powi((self.descents - 1).max(0)),
            (false, true) => 1.0,
            (false, false) => depth,
        }
    }
}

fn skip_string(characters: &mut impl Iterator<Item = char>, quote: char) {
    while let Some(character) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            end if end == quote => return,
            _ => {}
        }
    }
}

#[derive(Debug)]
enum Open {
    Query(Outline),
    Bracket { selectors: u32 },
    Parenthesis,
}

#[derive(Debug, Default)]
struct Reader {
    open: Vec<Open>,
    done: Vec<Outline>,
}

impl Reader {
    fn take(&mut self, character: char) {
        match character {
            '$' => self.begin(true),
            '@' => self.begin(false),
            '[' => self.open.push(Open::Bracket { selectors: 1 }),
            '(' => self.open.push(Open::Parenthesis),
            '*' | '?' | ':' => self.on_query(|query| query.many = true),
            ',' => {
                self.end_query();
                if let Some(Open::Bracket { selectors }) = self.open.last_mut() {
                    *selectors += 1;
                }
            }
            ')' => {
                self.end_query();
                self.open.pop();
            }
            ']' => {
                self.end_query();
                self.close_bracket();
            }
            '<' | '>' | '=' | '!' | '&' | '|' => self.end_query(),
            _ => {}
        }
    }

    fn begin(&mut self, absolute: bool) {
        self.open.push(Open::Query(Outline {
            absolute,
            repeats: 1.0,
            ..Outline::default()
        }));
    }

    fn descend(&mut self) {
        self.on_query(|query| {
            query.many = true;
            query.descents += 1;
        });
    }

    fn close_bracket(&mut self) {
        if let Some(Open::Bracket { selectors }) = self.open.pop()
            && selectors > 1
        {
            self.on_query(|query| {
                query.many = true;
                query.repeats *= f64::from(selectors);
            });
        }
    }

    /// Changes the innermost open query.
    fn on_query(&mut self, change: impl FnOnce(&mut Outline)) {
        let query = self.open.iter_mut().rev().find_map(|open| match open {
            Open::Query(query) => Some(query),
            _ => None,
        });
        if let Some(query) = query {
            change(query);
        }
    }

    fn end_query(&mut self) {
        match self.open.pop() {
            Some(Open::Query(query)) => self.keep(query),
            Some(other) => self.open.push(other),
            None => {}
        }
    }

    fn keep(&mut self, query: Outline) {
        let mut query = Some(query);
        self.on_query(|outer| outer.inner.extend(query.take()));
        self.done.extend(query);
    }

    fn finish(mut self) -> Outline {
        self.end_query();
        self.done.pop().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_and_indexes_select_one_value() {
        for (path, singular) in [
            ("$", true),
            ("$.a[0]['b, *:?'][-1]", true),
            ("$[\"a\\\"*\"]", true),
            ("$.a[*]", false),
            ("$.*", false),
            ("$..a", false),
            ("$[0,1]", false),
            ("$[0:1]", false),
            ("$[?@.a == 1.5]", false),
        ] {
            assert_eq!(Outline::of(path).is_singular(), singular, "{path}");
        }
    }

    #[test]
    fn work_grows_with_the_values_that_a_path_visits() {
        // A document of 1000 steps that is 10 levels deep.
        for (path, work) in [
            ("$.a.b", 1.0),
            ("$.a[*].b[*]", 1000.0),
            ("$..a", 1000.0),
            ("$..a..b", 10_000.0),
            ("$..*..*..*", 100_000.0),
            ("$[*,*][*,*,*]", 6000.0),
            ("$[?@.a == 'x]']", 11_000.0),
            ("$[?@.a > $.b && !@.c]", 22_000.0),
            ("$[?count(@..*) > 1]", 11_000.0),
            ("$[?count($..*) > 1]", 1_001_000.0),
            ("$[?@[?count($..*) > 1]]", 10_011_000.0),
            ("$[?@.a].b[?@.c]", 21_000.0),
        ] {
            assert_eq!(Outline::of(path).work(1000, 10), work, "{path}");
        }
    }
}
