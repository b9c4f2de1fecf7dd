//! The snippets and links of a guide.

/// A fenced code block.
#[derive(Debug)]
pub(crate) struct Snippet {
    /// The language after the fence.
    pub(crate) language: String,
    pub(crate) text: String,
    /// The file name in the sentence before it, if it has one with this extension.
    pub(crate) file: Option<String>,
}

/// The snippets in order.
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
            file: file_name(before, language),
        });
        before = "";
    }
    snippets
}

/// The last file name in a line with the extension of the language, if it has no folder.
fn file_name(line: &str, language: &str) -> Option<String> {
    let quoted = line.split('`').skip(1).step_by(2);
    let ending = format!(".{language}");
    let files = quoted.filter(|it| it.ends_with(&ending) && !it.contains('/'));
    match language {
        // Other files are those of clients, in other folders.
        "json" => files
            .last()
            .filter(|it| *it == "flow.json")
            .map(str::to_owned),
        _ => files.last().map(str::to_owned),
    }
}

/// The targets of the links of a guide.
pub(crate) fn links(guide: &str) -> impl Iterator<Item = &str> {
    let parts = guide.split("](").skip(1);
    parts.filter_map(|part| Some(part.split_once(')')?.0))
}
