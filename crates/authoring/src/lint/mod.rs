//! What an author would want to know about the failures a contract declares.
//!
//! One file per rule; its name reads as the finding. Declarations that are outright wrong are not
//! findings: the registry refuses them.

mod details_schema_missing;
mod retryable_without_delay;

use panpan_contract::operation::{ErrorDefinition, OperationSpec};

/// Something worth changing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule, named as the finding.
    pub rule: &'static str,
    /// Where, as an RFC 6901 pointer into the list of operations.
    pub pointer: String,
    /// What is the matter.
    pub message: String,
    /// What to do about it.
    pub hint: &'static str,
}

/// A question asked about every declared failure.
struct Rule {
    name: &'static str,
    hint: &'static str,
    /// The member the finding points at, and the sentence; `None` when all is well.
    look: fn(&OperationSpec, &ErrorDefinition) -> Option<(&'static str, String)>,
}

const RULES: [Rule; 2] = [retryable_without_delay::RULE, details_schema_missing::RULE];

/// Everything the rules find, in the order of the contract.
///
/// ```
/// use panpan_contract::Code;
/// use panpan_contract::operation::{ErrorDefinition, OperationSpec, OperationType};
///
/// let mut spec = OperationSpec::new("fs/read".parse().unwrap(), OperationType::Query);
/// spec.error_schemas = vec![ErrorDefinition::new(Code::new("DISK_FULL").unwrap(), "no room")];
/// let findings = panpan_authoring::lint::lint(&[spec]);
/// assert_eq!(findings[0].rule, "details_schema_missing");
/// assert_eq!(findings[0].pointer, "/0/error_schemas/0/schema");
/// ```
pub fn lint(operations: &[OperationSpec]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (operation_index, spec) in operations.iter().enumerate() {
        for (error_index, definition) in spec.error_schemas.iter().enumerate() {
            for rule in &RULES {
                let Some((member, message)) = (rule.look)(spec, definition) else {
                    continue;
                };
                findings.push(Finding {
                    rule: rule.name,
                    pointer: format!("/{operation_index}/error_schemas/{error_index}{member}"),
                    message: format!("operation {}: {message}", spec.name),
                    hint: rule.hint,
                });
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use panpan_contract::operation::OperationType;
    use panpan_contract::retry::{RetryPolicy, RetrySettings};
    use panpan_contract::{Category, Code};
    use serde_json::{Value, json};

    use super::*;

    fn check(category: Category, schema: Value, retry: Option<RetryPolicy>, expected: &[&str]) {
        let mut spec = OperationSpec::new("fs/read".parse().unwrap(), OperationType::Query);
        spec.retry = retry;
        spec.error_schemas = vec![ErrorDefinition {
            category: Some(category),
            schema,
            ..ErrorDefinition::new(Code::new("DISK_BUSY").unwrap(), "busy")
        }];
        let rules: Vec<&str> = lint(&[spec]).iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, expected);
    }

    fn at_once() -> RetryPolicy {
        let settings = RetrySettings {
            initial_delay_ms: 0,
            ..RetrySettings::from(RetryPolicy::DEFAULT)
        };
        RetryPolicy::try_from(settings).unwrap()
    }

    #[test]
    fn a_declaration_that_says_everything_is_not_found() {
        check(Category::Transient, json!({"type": "object"}), None, &[]);
    }

    #[test]
    fn a_code_that_invites_retrying_at_once_is_found() {
        let schema = json!({"type": "object"});
        check(
            Category::Transient,
            schema.clone(),
            Some(at_once()),
            &["retryable_without_delay"],
        );
        check(Category::Permanent, schema, Some(at_once()), &[]);
    }

    #[test]
    fn a_declaration_without_a_schema_is_found() {
        for empty in [json!({}), json!(true)] {
            check(
                Category::Permanent,
                empty,
                None,
                &["details_schema_missing"],
            );
        }
        check(Category::Permanent, json!(false), None, &[]);
    }
}
