//! A set of categories, small enough to be copied with the terms of a call.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use panpan_failure::Category;

/// A set of categories, written as a list of their words in the order of [`Category::ALL`].
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Categories(u16);

impl Categories {
    /// Whether the set contains a category.
    pub fn contains(self, category: Category) -> bool {
        self.0 & bit(category) != 0
    }

    /// The categories, in the order of [`Category::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Category> {
        let all = Category::ALL.iter().copied();
        all.filter(move |category| self.contains(*category))
    }
}

fn bit(category: Category) -> u16 {
    1 << category as u16
}

impl FromIterator<Category> for Categories {
    fn from_iter<I: IntoIterator<Item = Category>>(categories: I) -> Self {
        let bits = categories.into_iter().map(bit);
        Self(bits.fold(0, |all, bit| all | bit))
    }
}

impl fmt::Debug for Categories {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.iter()).finish()
    }
}

impl Serialize for Categories {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Category::word))
    }
}

impl<'de> Deserialize<'de> for Categories {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Word(#[serde(with = "panpan_failure::word")] Category);
        let words = Vec::<Word>::deserialize(deserializer)?;
        Ok(words.into_iter().map(|Word(category)| category).collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_category_is_written_and_read_back() {
        let all: Categories = Category::ALL.iter().copied().collect();
        for category in Category::ALL {
            let one = Categories::from_iter([*category]);
            assert!(one.contains(*category) && all.contains(*category));
            assert_eq!(json!(one), json!([category.word()]));
            assert_eq!(one.iter().collect::<Vec<_>>(), [*category]);
            let read: Categories = serde_json::from_value(json!([category.word()])).unwrap();
            assert_eq!(read, one);
        }
        assert!(!Categories::default().contains(Category::Network));
        assert_eq!(json!(all).as_array().unwrap().len(), Category::ALL.len());
        assert!(serde_json::from_value::<Categories>(json!(["SOMETIMES"])).is_err());
    }
}
