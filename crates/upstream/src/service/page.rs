//! Web pages that services and proxies send as a success instead of the JSON that the contract declares: a login
//! form, a notice about maintenance.

use panpan_contract::binding::{HttpBinding, SuccessBodies};
use panpan_failure::{Effect, Failure};

use super::import_code::of_status;
use crate::client::Incoming;

/// The longest title that is quoted, in characters.
const TITLE_CHARACTERS_LIMIT: usize = 100;

/// Titles of pages on which a person signs in.
const SIGN_IN: [&str; 5] = ["sign in", "sign-in", "log in", "login", "authenticat"];

/// The failure that a page means; `None` if it is no page, or the contract allows one.
pub(super) fn failure_in_page(binding: &HttpBinding, incoming: &Incoming) -> Option<Failure> {
    let is_html = |it: &str| it.eq_ignore_ascii_case("text/html");
    let is_expected = binding.success_bodies == SuccessBodies::AsSent || !declares_json(binding);
    if is_expected || !incoming.media_type().is_some_and(is_html) {
        return None;
    }
    let text = incoming.text()?;
    let lower = text.to_ascii_lowercase();
    if !lower.trim_start().starts_with("<!doctype html") && !lower.contains("<html") {
        return None;
    }
    let title = title(&text, &lower);
    let asks_to_sign_in = lower.contains("type=\"password\"") || lower.contains("type=password");
    let is_named = |title: &&str| {
        let title = title.to_ascii_lowercase();
        SIGN_IN.iter().any(|it| title.contains(it))
    };
    let status = match asks_to_sign_in || title.is_some_and(|it| is_named(&it)) {
        true => 401,
        false => 502,
    };
    let message = match title {
        Some(title) => format!("the service sent the web page \"{title}\" instead of JSON"),
        None => "the service sent a web page instead of JSON".to_owned(),
    };
    let failure = Failure::new(of_status(status)).with_message(message);
    Some(failure.with_effect(Effect::Unknown))
}

/// Whether the contract declares JSON and no page.
fn declares_json(binding: &HttpBinding) -> bool {
    let has = |part: &str| binding.accepts.iter().any(|it| it.contains(part));
    has("json") && !has("html") && !has("*/*") && !has("text/*")
}

/// The title of a page; `lower` is its text in lower case.
fn title<'t>(text: &'t str, lower: &str) -> Option<&'t str> {
    let start = lower.find("<title")?;
    let start = start + lower[start..].find('>')? + 1;
    let end = start + lower[start..].find("</title")?;
    let title = text.get(start..end)?.trim();
    let is_short = title.chars().nth(TITLE_CHARACTERS_LIMIT).is_none();
    (!title.is_empty() && is_short && !title.contains('<')).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn the_title_of_a_page_is_found() {
        for (page, expected) in [
            ("<html><title>Sign in</title></html>", Some("Sign in")),
            ("<HTML><TITLE lang=en> Be back </TITLE>", Some("Be back")),
            ("<html><title></title>", None),
            ("<html><title>", None),
            ("<html>", None),
        ] {
            assert_eq!(title(page, &page.to_ascii_lowercase()), expected, "{page}");
        }
    }
}
