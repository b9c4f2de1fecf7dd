//! The retry setting of an operation: `"off"`, settings, or categories.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, Unexpected, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::categories::Categories;
use super::policy::{RetryPolicy, RetrySettings};

/// The value that disables a setting.
pub(crate) const OFF: &str = "off";

/// Which failures are retried, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryRule {
    /// One policy for every failure; without it, each category has its own.
    pub policy: Option<RetryPolicy>,
    /// The categories that are retried; without it, every category with retryable codes.
    pub categories: Option<Categories>,
}

impl RetryRule {
    /// Nothing is retried.
    pub const OFF: Self = Self {
        policy: Some(RetryPolicy::NEVER),
        categories: None,
    };
}

impl From<RetryPolicy> for RetryRule {
    fn from(policy: RetryPolicy) -> Self {
        Self {
            policy: Some(policy),
            categories: None,
        }
    }
}

/// The settings before they are checked.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RuleSettings {
    max_retries: Option<u32>,
    initial_delay_ms: Option<u64>,
    max_delay_ms: Option<u64>,
    backoff_multiplier: Option<f64>,
    jitter_enabled: Option<bool>,
    jitter_range: Option<f64>,
    categories: Option<Categories>,
}

impl RuleSettings {
    fn rule<E: Error>(self) -> Result<RetryRule, E> {
        let has_setting = self.max_retries.is_some()
            || self.initial_delay_ms.is_some()
            || self.max_delay_ms.is_some()
            || self.backoff_multiplier.is_some()
            || self.jitter_enabled.is_some()
            || self.jitter_range.is_some();
        let defaults = RetrySettings::default();
        let settings = RetrySettings {
            max_retries: self.max_retries.unwrap_or(defaults.max_retries),
            initial_delay_ms: self.initial_delay_ms.unwrap_or(defaults.initial_delay_ms),
            max_delay_ms: self.max_delay_ms.unwrap_or(defaults.max_delay_ms),
            backoff_multiplier: self
                .backoff_multiplier
                .unwrap_or(defaults.backoff_multiplier),
            jitter_enabled: self.jitter_enabled.unwrap_or(defaults.jitter_enabled),
            jitter_range: self.jitter_range.unwrap_or(defaults.jitter_range),
        };
        let policy = RetryPolicy::try_from(settings).map_err(E::custom)?;
        // With categories alone, each keeps its own policy; an empty object is the default policy.
        let is_own = has_setting || self.categories.is_none();
        Ok(RetryRule {
            policy: is_own.then_some(policy),
            categories: self.categories,
        })
    }
}

impl<'de> Deserialize<'de> for RetryRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "\"off\" or settings such as max_retries or categories";
        match off_or::<RuleSettings, D>(expected, deserializer)? {
            Some(settings) => settings.rule(),
            None => Ok(Self::OFF),
        }
    }
}

/// Reads `"off"` as `None`, or settings.
pub(crate) fn off_or<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    expected: &'static str,
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    struct OffOr<T>(&'static str, PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for OffOr<T> {
        type Value = Option<T>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str(self.0)
        }

        fn visit_str<E: Error>(self, word: &str) -> Result<Option<T>, E> {
            match word {
                OFF => Ok(None),
                _ => Err(E::invalid_value(Unexpected::Str(word), &self)),
            }
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Option<T>, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map)).map(Some)
        }
    }

    deserializer.deserialize_any(OffOr(expected, PhantomData))
}

impl Serialize for RetryRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Settings {
            #[serde(flatten)]
            policy: Option<RetryPolicy>,
            #[serde(skip_serializing_if = "Option::is_none")]
            categories: Option<Categories>,
        }
        if *self == Self::OFF {
            return serializer.serialize_str(OFF);
        }
        let (policy, categories) = (self.policy, self.categories);
        Settings { policy, categories }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use panpan_failure::Category;

    fn read(value: Value) -> RetryRule {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_rule_is_off_or_settings_or_categories_and_round_trips() {
        let network = Categories::from_iter([Category::Network]);
        let once = RetryPolicy::try_from(RetrySettings {
            max_retries: 1,
            ..RetrySettings::default()
        })
        .unwrap();
        for (written, policy, categories) in [
            (json!("off"), Some(RetryPolicy::NEVER), None),
            (json!({}), Some(RetryPolicy::DEFAULT), None),
            (json!({"max_retries": 1}), Some(once), None),
            (json!({"categories": ["NETWORK"]}), None, Some(network)),
            (
                json!({"categories": ["NETWORK"], "max_retries": 1}),
                Some(once),
                Some(network),
            ),
        ] {
            let rule = read(written.clone());
            assert_eq!(rule, RetryRule { policy, categories }, "{written}");
            assert_eq!(read(json!(rule)), rule, "{written}");
        }
        assert_eq!(json!(RetryRule::OFF), json!("off"));
    }

    #[test]
    fn an_invalid_rule_is_rejected_with_a_fix() {
        for (written, expected) in [
            (json!("on"), "expected \"off\" or settings"),
            (json!(3), "expected \"off\" or settings"),
            (json!({"retries": 3}), "unknown field `retries`"),
            (json!({"categories": ["SLOW"]}), "one of TRANSIENT"),
            (json!({"initial_delay_ms": 9000}), "above max_delay_ms 5000"),
        ] {
            let refused = serde_json::from_value::<RetryRule>(written).unwrap_err();
            assert!(refused.to_string().contains(expected), "{refused}");
        }
    }
}
