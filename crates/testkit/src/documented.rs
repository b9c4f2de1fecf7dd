//! Checks responses against the server's own `/openapi.json`.

use serde_json::{Value, json};

/// The OpenAPI document of a server.
#[derive(Debug)]
pub struct Documented {
    document: Value,
    /// Its schemas, with references to `#/$defs`.
    definitions: Value,
}

/// A response to a request for a path.
#[derive(Debug)]
pub struct Answered<'a> {
    /// The method of the request.
    pub method: &'a str,
    /// Its path.
    pub path: &'a str,
    /// The status of the response.
    pub status: u16,
    /// Its content type.
    pub media_type: Option<&'a str>,
    /// Its body.
    pub body: &'a [u8],
}

impl Documented {
    /// Parses the document.
    pub fn read(text: &str) -> Self {
        let document: Value = serde_json::from_str(text).unwrap();
        assert!(document["paths"].is_object(), "{document}");
        let definitions = moved(&document["components"]["schemas"]);
        Self {
            document,
            definitions,
        }
    }

    /// How a response contradicts the document; `None` if it does not, or if the document lacks the path or
    /// method.
    pub fn contradiction(&self, answered: &Answered<'_>) -> Option<String> {
        let responses = self.responses(answered)?;
        self.compared(responses, answered).err().map(|problem| {
            let Answered {
                method,
                path,
                status,
                body,
                ..
            } = answered;
            let body = String::from_utf8_lossy(body);
            format!("{method} {path} answered {status}: {problem}: {body}")
        })
    }

    /// Whether the document has the path and method of a response.
    pub fn knows(&self, answered: &Answered<'_>) -> bool {
        self.responses(answered).is_some()
    }

    fn responses(&self, answered: &Answered<'_>) -> Option<&Value> {
        let path = answered.path.split('?').next().unwrap_or_default();
        let operation = &self.document["paths"].get(path)?;
        let operation = operation.get(answered.method.to_ascii_lowercase())?;
        operation.get("responses")
    }

    fn compared(&self, responses: &Value, answered: &Answered<'_>) -> Result<(), String> {
        let status = answered.status.to_string();
        let range = format!("{}XX", &status[..1]);
        let declared = [status.as_str(), &range, "default"];
        let response = declared.iter().find_map(|key| responses.get(key));
        let response = self.resolved(response.ok_or("no such status")?);
        // Ignores parameters of the media type.
        let sent = answered.media_type.unwrap_or_default();
        let sent = sent.split(';').next().unwrap_or_default().trim();
        let media = response["content"].get(sent);
        let media = media.ok_or_else(|| format!("no such media type: {sent:?}"))?;
        if sent == "text/event-stream" {
            return Ok(());
        }
        let body: Value = serde_json::from_slice(answered.body)
            .map_err(|error| format!("a body that is not JSON: {error}"))?;
        let schema = json!({"$ref": "#/$defs/answer", "$defs": self.with(&media["schema"])});
        let schema = jsonschema::validator_for(&schema)
            .map_err(|error| format!("a schema that does not compile: {error}"))?;
        let wrong: Vec<String> = schema
            .iter_errors(&body)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(wrong.join("; ")),
        }
    }

    fn resolved<'a>(&'a self, written: &'a Value) -> &'a Value {
        let reference = written["$ref"].as_str();
        let found = reference.and_then(|it| self.document.pointer(it.strip_prefix('#')?));
        found.unwrap_or(written)
    }

    /// A schema with everything that it references. Compiling the whole document for each response takes too long.
    fn with(&self, schema: &Value) -> Value {
        let mut definitions = json!({"answer": moved(schema)});
        let mut open = references(&definitions["answer"]);
        while let Some(name) = open.pop() {
            if definitions.get(&name).is_none() {
                let definition = &self.definitions[&name];
                open.extend(references(definition));
                definitions[name] = definition.clone();
            }
        }
        definitions
    }
}

/// The names of the definitions that a schema references.
fn references(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(members) => {
            let own = members.get("$ref").and_then(Value::as_str);
            let own = own.and_then(|it| it.strip_prefix("#/$defs/")?.split('/').next());
            let within = members.values().flat_map(references);
            within.chain(own.map(str::to_owned)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// Schemas with references to `#/$defs` instead of `#/components/schemas`.
fn moved(schemas: &Value) -> Value {
    let text = schemas.to_string();
    let text = text.replace("\"#/components/schemas/", "\"#/$defs/");
    serde_json::from_str(&text).unwrap()
}
