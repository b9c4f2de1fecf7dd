//! Finds the reason of an error in an HTML page.
//!
//! Reads the headings of a page, and the texts of a short one. What web servers write on every error page is no reason,
//! and a page with a form is for people.

use super::entities::unescaped;
use super::error_body::texts::{append, is_status_phrase};

/// How much of a page is read, in bytes.
const PAGE_BYTES_LIMIT: usize = 64 * 1024;
/// The most text on a page whose texts are about the error, in bytes.
const TEXT_BYTES_LIMIT: usize = 1_500;
/// The maximum number of texts in a message.
const TEXTS_LIMIT: usize = 3;
/// The minimum number of words; a shorter text is a caption.
const WORDS_LEAST: usize = 3;

/// Elements whose content is not read.
const HIDDEN: [&str; 5] = ["script", "style", "svg", "template", "textarea"];
/// Elements inside of a sentence; any other ends it.
const INLINE: &str = "a abbr b code em font i small span strong tt u";
/// Elements for headings.
const HEADINGS: &str = "title h1 h2";
/// Elements of pages that ask for something.
const FORMS: [&str; 2] = ["form", "input"];
/// Labels in front of a reason.
const LABELS: [&str; 2] = ["Message ", "Message: "];
/// The beginnings of what web servers and frameworks write on every error page, in lower case.
const BOILERPLATE: [&str; 17] = [
    "additionally, a 404 not found error was encountered",
    "at ",
    "cloudflare ray id",
    "description ",
    "if you are the application owner",
    "more information about this error may be available",
    "please contact the server administrator",
    "sorry, the page you are looking for is currently unavailable",
    "the browser (or proxy) sent a request that this server could not understand",
    "the proxy server received an invalid response from an upstream server",
    "the requested url was not found on",
    "the server encountered an internal error",
    "the server is temporarily unable to service your request due to maintenance downtime or capacity",
    "the server made a boo boo",
    "type status report",
    "you don't have permission to access",
    "your browser sent a request that this server could not understand",
];

/// The heading of networks in front of a service that block a request: not the name of any status.
const BLOCKED: &str = "access denied";

/// Whether a document is an HTML page.
pub(super) fn is_page(body: &str) -> bool {
    let start: String = body.chars().take(1_000).collect();
    let start = start.to_ascii_lowercase();
    start.contains("<html") || start.contains("<!doctype html")
}

/// The reason on a page, if it is one and states more than its status.
pub(super) fn message(body: &str) -> Option<String> {
    let body = body.trim_start_matches('\u{feff}').trim_start();
    if !body.starts_with('<') || !is_page(body) {
        return None;
    }
    let page = Page::read(&body[..body.floor_char_boundary(PAGE_BYTES_LIMIT)])?;
    let length: usize = page.texts.iter().map(String::len).sum();
    let texts = page.texts.iter().filter(|_| length <= TEXT_BYTES_LIMIT);
    let mut message = String::new();
    let reasons = page.headings.iter().chain(texts);
    let reasons = reasons.map(|it| without_label(it));
    for reason in reasons.filter(|it| is_reason(it)).take(TEXTS_LIMIT) {
        append(&mut message, reason);
    }
    let captions = page.headings.iter().chain(&page.title);
    let blocked = captions
        .map(String::as_str)
        .find(|it| it.eq_ignore_ascii_case(BLOCKED));
    let title = page.title.as_deref().filter(|it| is_reason(it)).or(blocked);
    match message.is_empty() {
        true => title.map(str::to_owned),
        false => Some(message),
    }
}

/// The visible texts of a page.
#[derive(Default)]
struct Page {
    title: Option<String>,
    headings: Vec<String>,
    texts: Vec<String>,
}

impl Page {
    /// `None` if the page asks for something.
    fn read(body: &str) -> Option<Self> {
        let mut page = Self::default();
        let (mut rest, mut block, mut open) = (body, String::new(), String::new());
        while let Some((text, after)) = rest.split_once('<') {
            block.push_str(text);
            if let Some(comment) = after.strip_prefix("!--") {
                rest = comment.split_once("-->")?.1;
                continue;
            }
            let (tag, after) = after.split_once('>')?;
            let name = tag
                .split(|it: char| !it.is_ascii_alphanumeric() && it != '/')
                .next();
            let name = name.unwrap_or_default().to_ascii_lowercase();
            if FORMS.contains(&name.as_str()) {
                return None;
            }
            rest = match HIDDEN.contains(&name.as_str()) {
                true => after_element(after, &name),
                false => after,
            };
            if INLINE.split(' ').any(|it| it == name.trim_matches('/')) {
                continue;
            }
            page.add(&open, &std::mem::take(&mut block));
            open = name;
        }
        page.add(&open, &format!("{block}{rest}"));
        Some(page)
    }

    fn add(&mut self, element: &str, text: &str) {
        let text = unescaped(text);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match element {
            _ if text.is_empty() => {}
            "title" => self.title = Some(text),
            heading if HEADINGS.split(' ').any(|it| it == heading) => self.headings.push(text),
            _ => self.texts.push(text),
        }
    }
}

/// What follows an element whose content is not read.
fn after_element<'a>(body: &'a str, name: &str) -> &'a str {
    let mut rest = body;
    while let Some((_, after)) = rest.split_once("</") {
        let end = after.get(..name.len());
        if end.is_some_and(|it| it.eq_ignore_ascii_case(name)) {
            return after.split_once('>').map_or("", |(_, after)| after);
        }
        rest = after;
    }
    ""
}

fn without_label(text: &str) -> &str {
    let mut labels = LABELS.iter();
    labels.find_map(|it| text.strip_prefix(it)).unwrap_or(text)
}

fn is_reason(text: &str) -> bool {
    let words = text.split_whitespace();
    let words = words.filter(|it| it.chars().any(char::is_alphabetic));
    let start: String = text.chars().take(120).collect();
    let start = start.to_lowercase().replace('’', "'");
    words.count() >= WORDS_LEAST
        && !is_status_phrase(text)
        && !BOILERPLATE.iter().any(|it| start.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_on_an_error_page_is_found() {
        for (body, expected) in [
            (
                "<!doctype html>\n<html lang=en>\n<title>400 Bad Request</title>\n<h1>Bad Request</h1>\n<p>Missing required field &#39;qty&#39;.</p>\n",
                "Missing required field 'qty'.",
            ),
            (
                "<!doctype html><html><head><title>HTTP Status 400 – Bad Request</title><style>h1 {color: #fff}</style></head><body><h1>HTTP Status 400 – Bad Request</h1><hr class=\"line\" /><p><b>Type</b> Status Report</p><p><b>Message</b> Required parameter &#39;qty&#39; is not present</p><p><b>Description</b> The server cannot process the request.</p></body></html>",
                "Required parameter 'qty' is not present",
            ),
            (
                "<html><head><title>Error: Over Quota</title></head><body><h1>Over Quota</h1>This application is over its serving quota.</body></html>",
                "This application is over its serving quota.",
            ),
            (
                "<html><body><h2>You are being rate limited</h2><p>The owner has <b>banned</b> you.</p></body></html>",
                "You are being rate limited; The owner has banned you.",
            ),
            (
                "<!DOCTYPE html><html><body><pre>Cannot POST /orders<br> &nbsp; at next (a.js:1)<br> &nbsp; at b (c.js:2)</pre></body></html>",
                "Cannot POST /orders",
            ),
            (
                "<html><head><title>We are down for maintenance</title></head><body><iframe></iframe></body></html>",
                "We are down for maintenance",
            ),
            (
                "<HTML><HEAD>\n<TITLE>Access Denied</TITLE>\n</HEAD><BODY>\n<H1>Access Denied</H1>\n \nYou don't have permission to access \"http&#58;&#47;&#47;a&#46;b&#47;\" on this server.<P>\nReference&#32;&#35;18&#46;2d\n</BODY>\n</HTML>",
                "Access Denied",
            ),
        ] {
            assert_eq!(message(body).as_deref(), Some(expected), "{body}");
        }
    }

    #[test]
    fn what_is_on_every_error_page_is_no_reason() {
        for body in [
            "",
            "busy",
            "<Error><Message>no</Message></Error>",
            "<html><title>Sign in</title></html>",
            "<html>\n<head><title>502 Bad Gateway</title></head>\n<body>\n<center><h1>502 Bad Gateway</h1></center>\n<hr><center>nginx/1.25.3</center>\n</body>\n</html>\n",
            "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\"><html><head><title>404 Not Found</title></head><body><h1>Not Found</h1><p>The requested URL was not found on this server.</p><hr><address>Apache/2.4</address></body></html>",
            "<html><head><title>503 Service Temporarily Unavailable</title></head></html>",
            "<html><body><h1>Sign in to your account</h1><form action=\"/login\"><input name=user></form></body></html>",
            "<html><script>var a = \"this is no text\";</script></html>",
            "<html><!-- a comment of many words --></html>",
            "<html><p unclosed",
        ] {
            assert_eq!(message(body), None, "{body}");
        }
    }

    #[test]
    fn of_a_long_page_only_the_headings_are_read() {
        let page = |length: usize| {
            let text = "word ".repeat(length / 5);
            let body = format!("<html><h1>ValueError in the view</h1><p>{text}</p></html>");
            message(&body).unwrap()
        };
        assert_eq!(page(TEXT_BYTES_LIMIT * 2), "ValueError in the view");
        assert!(page(TEXT_BYTES_LIMIT).contains("word word"));
        let hostile = format!("<html>{}", "<a ".repeat(400_000));
        assert_eq!(message(&hostile), None);
        let hostile = format!("<html>{}", "<script></".repeat(100_000));
        assert_eq!(message(&hostile), None);
    }

    #[test]
    fn no_part_of_a_page_panics() {
        let body = "<html><!-- é --><script>é</script><h1>é&#233;&é;</h1><p>é é é</p></html>";
        for (start, _) in body.char_indices() {
            for (end, _) in body[start..].char_indices() {
                let _ = message(&format!("<html>{}", &body[start..start + end]));
            }
        }
    }
}
