//! What headers say about the failure itself: the challenge of RFC 6750 and the error type of AWS.

use super::error_body::ErrorBody;

/// The facts in headers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    code: Option<String>,
    message: Option<String>,
    /// The scopes that the call needs.
    pub(super) scope: Option<String>,
}

impl Challenge {
    pub(super) fn of(headers: &[(&str, &str)]) -> Self {
        let mut challenge = Self::default();
        for (name, value) in headers {
            match name.to_ascii_lowercase().as_str() {
                "www-authenticate" => challenge.read(value),
                // `AccessDeniedException:http://internal.example/`
                "x-amzn-errortype" => challenge.code = value.split(':').next().and_then(word),
                _ => {}
            }
        }
        challenge
    }

    /// Reads the parameters of a challenge. Without `error`, it only names the scheme.
    fn read(&mut self, value: &str) {
        let Some(code) = parameter(value, "error").as_deref().and_then(word) else {
            return;
        };
        self.message = parameter(value, "error_description");
        self.scope = parameter(value, "scope").filter(|it| !it.trim().is_empty());
        self.code = Some(code);
    }

    /// Adds what the body does not say.
    pub(super) fn add_to(&self, body: &mut ErrorBody) {
        let code = self.code.iter().filter(|it| !body.codes.contains(it));
        let code: Vec<String> = code.cloned().collect();
        body.codes.extend(code);
        if body.message.is_none() {
            let needed = self
                .scope
                .as_deref()
                .filter(|_| self.is_insufficient_scope());
            let needed = needed.map(|it| format!("the credential lacks the scope {it}"));
            body.message = self.message.clone().or(needed);
        }
    }

    fn is_insufficient_scope(&self) -> bool {
        self.code.as_deref() == Some("insufficient_scope")
    }
}

/// The value of a parameter: quoted, or a token.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let is_separator = |it: Option<char>| it.is_none_or(|it| it == ' ' || it == ',');
    let assigned = format!("{name}=");
    let lower = challenge.to_ascii_lowercase();
    let mut places = lower.match_indices(&assigned).map(|(at, _)| at);
    let at = places.find(|at| is_separator(challenge[..*at].chars().next_back()))?;
    let value = challenge[at + assigned.len()..].trim_start();
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => value.split([',', ' ']).next()?,
    };
    Some(value.trim().to_owned()).filter(|it| !it.is_empty())
}

/// A code of one word.
fn word(text: &str) -> Option<String> {
    let text = text.trim();
    let is_part = |it: char| it.is_ascii_alphanumeric() || "_-.".contains(it);
    let is_word = !text.is_empty() && text.len() <= 100 && text.chars().all(is_part);
    is_word.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_states_code_message_and_scope() {
        for (value, code, message, scope) in [
            (
                r#"Bearer error="insufficient_scope", error_description="needs more", scope="orders:write""#,
                Some("insufficient_scope"),
                Some("needs more"),
                Some("orders:write"),
            ),
            (
                r#"Bearer realm="api, v1", error=invalid_token"#,
                Some("invalid_token"),
                None,
                None,
            ),
            (
                r#"Bearer realm="example", scope="openid""#,
                None,
                None,
                None,
            ),
            (r#"Basic realm="my_error=7""#, None, None, None),
            ("Negotiate", None, None, None),
            ("Bearer error=", None, None, None),
            ("Bearer error=\"", None, None, None),
        ] {
            let found = Challenge::of(&[("WWW-Authenticate", value)]);
            assert_eq!(found.code.as_deref(), code, "{value}");
            assert_eq!(found.message.as_deref(), message, "{value}");
            assert_eq!(found.scope.as_deref(), scope, "{value}");
        }
    }

    #[test]
    fn the_error_type_of_aws_is_a_code() {
        for (value, code) in [
            ("AccessDeniedException", Some("AccessDeniedException")),
            (
                "ThrottlingException:http://internal.example/",
                Some("ThrottlingException"),
            ),
            ("two words", None),
            ("", None),
        ] {
            let found = Challenge::of(&[("x-amzn-ErrorType", value)]);
            assert_eq!(found.code.as_deref(), code, "{value}");
        }
    }

    #[test]
    fn the_body_wins_over_the_challenge() {
        let value = r#"Bearer error="insufficient_scope", scope="orders:write""#;
        let challenge = Challenge::of(&[("www-authenticate", value)]);
        for (said, expected) in [
            (None, "the credential lacks the scope orders:write"),
            (Some("Forbidden"), "Forbidden"),
        ] {
            let mut body = ErrorBody {
                message: said.map(str::to_owned),
                ..ErrorBody::default()
            };
            challenge.add_to(&mut body);
            assert_eq!(body.message.as_deref(), Some(expected));
            assert_eq!(body.codes, ["insufficient_scope"]);
        }
    }
}
