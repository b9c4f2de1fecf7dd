//! What stands in a guide: its snippets and its links.

/// A fenced part of a guide.
#[derive(Debug)]
pub(crate) struct Snippet {
    /// The word after the fence.
    pub(crate) language: String,
    pub(crate) text: String,
    /// The file the sentence before it says it is, where it says one of this kind.
    pub(crate) file: Option<String>,
}

/// The snippets, in their order.
pub(crate) fn snippets(guide: &str) -> Vec<Snippet> {
    let mut snippets = Vec::new();
    let mut before = "";
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            before = if line.is_empty() { before } else { line };
            continue;
        };
        let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        snippets.push(Snippet {
            language: language.to_owned(),
            text: text.join("\n"),
            file: named(before, language),
        });
        before = "";
    }
    snippets
}

/// The file of a language that a line names last, if it lies in the folder of the guide.
fn named(line: &str, language: &str) -> Option<String> {
    let quoted = line.split('`').skip(1).step_by(2);
    let ending = format!(".{language}");
    let files = quoted.filter(|it| it.ends_with(&ending) && !it.contains('/'));
    match language {
        // Clients look for their files elsewhere.
        "json" => None,
        _ => files.last().map(str::to_owned),
    }
}

/// Where the links of a guide lead to.
pub(crate) fn links(guide: &str) -> impl Iterator<Item = &str> {
    let parts = guide.split("](").skip(1);
    parts.filter_map(|part| Some(part.split_once(')')?.0))
}
