//! Reads `webhook_config`, which is beside the tasks of a request: it belongs to the flow.

use panpan_failure::Violation;
use panpan_failure::pointer::joined;
use serde_json::Value;

use super::{Reader, malformed};
use crate::plan::{About, PlanError, PlanProblem, ProblemKind, Problems};
use crate::task::members::{RequestPlace, WEBHOOK, wrong_type};
use crate::webhooks::{WEBHOOK_URL_BYTES_LIMIT, Webhook};

/// Reads the webhook of a request.
pub(crate) fn read_webhook(params: &Value) -> Result<Option<Webhook>, PlanError> {
    let mut problems = Problems::default();
    let at = joined("", WEBHOOK);
    let webhook = match params.get(WEBHOOK).filter(|it| !it.is_null()) {
        None => None,
        Some(Value::Object(members)) => {
            for name in members.keys().filter(|name| *name != "url") {
                malformed(&mut problems, || {
                    Violation::value(joined(&at, name), "unknown member").expected("url")
                });
            }
            read_url(members.get("url"), &joined(&at, "url"), &mut problems)
        }
        Some(other) => {
            malformed(&mut problems, || {
                wrong_type(at, "an object with `url`", other)
            });
            None
        }
    };
    problems.or_err(|| webhook)
}

/// An invalid address is not quoted, since it may contain a secret.
fn read_url(url: Option<&Value>, at: &str, problems: &mut Problems) -> Option<Webhook> {
    let Some(url) = url else {
        malformed(problems, || Violation::missing(at).expected("an address"));
        return None;
    };
    let webhook = url.as_str().and_then(Webhook::new);
    if webhook.is_none() {
        malformed(problems, || {
            let expected =
                format!("an http or https address of at most {WEBHOOK_URL_BYTES_LIMIT} characters");
            Violation::value(at, "not an address of a webhook").expected(expected)
        });
    }
    webhook
}

/// The error for a webhook that cannot be used.
pub(crate) fn refused_webhook(reason: &str, action: &str) -> PlanError {
    let violation = Violation::value(joined("", WEBHOOK), reason).expected("no value");
    let problem = PlanProblem::new(ProblemKind::Malformed, None, violation);
    PlanError::one(problem.about(About::Advice(action.to_owned())))
}

impl Reader<'_> {
    /// A webhook in one of several tasks would not be used.
    pub(super) fn misplaced_webhook(&mut self) {
        if self.place != RequestPlace::Only {
            self.refuse(WEBHOOK, "belongs beside the tasks, not in one of them");
        }
    }
}
