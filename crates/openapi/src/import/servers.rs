//! The addresses of the service, with the defaults of their variables.

use panpan_contract::path::Path;
use serde_json::Value;

use super::paths::DocumentOperation;
use super::reader::Reader;

/// The addresses from the first source that has some: the operation, its path, the document.
pub(super) fn servers(reader: &mut Reader<'_>, entry: &DocumentOperation<'_>) -> Vec<String> {
    for (giver, pointer) in [
        (entry.operation, entry.pointer.as_str()),
        (entry.path_item, &entry.path_pointer),
        (reader.document, ""),
    ] {
        let location = Path::At(pointer);
        let Some(servers) = giver.get("servers").and_then(Value::as_array) else {
            continue;
        };
        let location = location.name("servers");
        let servers = servers.iter().enumerate();
        let addresses: Vec<_> = servers
            .filter_map(|(index, server)| address(reader, server, &location.index(index)))
            .collect();
        if !addresses.is_empty() {
            return addresses;
        }
    }
    Vec::new()
}

fn address(reader: &mut Reader<'_>, server: &Value, location: &Path<'_>) -> Option<String> {
    let Some(template) = server.get("url").and_then(Value::as_str) else {
        reader
            .warnings
            .note(location, "server without a \"url\": add one; it is ignored");
        return None;
    };
    let filled = filled(template, &server["variables"]);
    if filled.is_none() {
        let message = format!(
            "{template:?} has a variable without a default: add one; the server is ignored"
        );
        reader.warnings.note(&location.name("url"), message);
    }
    reader.spend(filled.as_ref().map_or(0, String::len));
    filled
}

/// An address with the default of every variable in braces.
fn filled(template: &str, variables: &Value) -> Option<String> {
    let mut address = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        address.push_str(before);
        address.push_str(variables.get(name)?.get("default")?.as_str()?);
        rest = after;
    }
    address.push_str(rest);
    Some(address)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_are_replaced_by_their_defaults() {
        let variables =
            json!({"region": {"default": "eu"}, "port": {"default": "8443"}, "odd": {}});
        for (template, expected) in [
            ("https://a.example.com", Some("https://a.example.com")),
            (
                "https://{region}.example.com:{port}/v1",
                Some("https://eu.example.com:8443/v1"),
            ),
            ("/v1", Some("/v1")),
            ("https://{odd}.example.com", None),
            ("https://{missing}.example.com", None),
            ("https://{region", None),
        ] {
            assert_eq!(filled(template, &variables).as_deref(), expected);
        }
    }
}
