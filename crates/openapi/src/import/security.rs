//! The security requirements of an operation.

use std::collections::HashSet;

use panpan_contract::binding::{ParameterLocation, SchemeKind, SecurityScheme};
use panpan_contract::path::Path;
use serde_json::Value;

use super::parameters::identity;
use super::reader::Reader;

/// The size of a scheme without its name and scopes.
const SCHEME_WEIGHT: usize = 50;

/// The alternatives of the operation, or those of the document if the operation has none.
pub(super) fn security(
    reader: &mut Reader<'_>,
    operation: &Value,
    location: &Path<'_>,
) -> Vec<Vec<SecurityScheme>> {
    let document = reader.document;
    let top = Path::TOP;
    let (written, location) = match operation.get("security") {
        Some(own) => (own, location.name("security")),
        None => (&document["security"], top.name("security")),
    };
    let alternatives = written.as_array().into_iter().flatten().enumerate();
    alternatives
        .map(|(index, alternative)| {
            let location = location.index(index);
            let schemes = alternative.as_object().into_iter().flatten();
            schemes
                .map(|(name, scopes)| scheme(reader, name, scopes, &location.name(name)))
                .collect()
        })
        .collect()
}

fn scheme(
    reader: &mut Reader<'_>,
    name: &str,
    scopes: &Value,
    location: &Path<'_>,
) -> SecurityScheme {
    let scopes = scopes.as_array().into_iter().flatten();
    let scopes = scopes.filter_map(Value::as_str).map(str::to_owned);
    let scopes: Vec<_> = scopes.collect();
    let text: usize = scopes.iter().map(String::len).sum();
    reader.spend(SCHEME_WEIGHT + name.len() + text);
    SecurityScheme {
        name: name.to_owned(),
        kind: scheme_kind(reader, name, location),
        scopes,
    }
}

fn scheme_kind(reader: &mut Reader<'_>, name: &str, location: &Path<'_>) -> SchemeKind {
    let document = reader.document;
    let other = || SchemeKind::Other {
        scheme: name.to_owned(),
    };
    let Some(written) = document["components"]["securitySchemes"].get(name) else {
        let message = format!(
            "security scheme {name:?} is not defined: add it to components/securitySchemes"
        );
        reader.warnings.note(location, message);
        return other();
    };
    let schemes = Path::At("/components/securitySchemes");
    let at = schemes.name(name);
    let Some(found) = reader.resolve(written, &at, "the scheme is unknown") else {
        return other();
    };
    let proof = read(found.value);
    proof.unwrap_or_else(|| {
        let message = "unknown kind of security scheme: provide its credential by other means";
        reader.warnings.note(&found.location(&at), message);
        other()
    })
}

fn read(scheme: &Value) -> Option<SchemeKind> {
    let word = |member: &str| scheme.get(member).and_then(Value::as_str);
    Some(match word("type")? {
        "apiKey" => SchemeKind::ApiKey {
            place: match word("in")? {
                "query" => ParameterLocation::Query,
                "header" => ParameterLocation::Header,
                "cookie" => ParameterLocation::Cookie,
                _ => return None,
            },
            key: word("name")?.to_owned(),
        },
        "http" => match word("scheme")?.to_ascii_lowercase().as_str() {
            "bearer" => SchemeKind::Bearer,
            "basic" => SchemeKind::Basic,
            other => SchemeKind::Other {
                scheme: other.to_owned(),
            },
        },
        "oauth2" | "openIdConnect" => SchemeKind::Bearer,
        "mutualTLS" => SchemeKind::Other {
            scheme: "mutualTLS".to_owned(),
        },
        _ => return None,
    })
}

/// The parameters that are credentials, which callers must not send.
pub(super) fn credentials(
    security: &[Vec<SecurityScheme>],
) -> HashSet<(ParameterLocation, String)> {
    let schemes = security.iter().flatten();
    let keys = schemes.filter_map(|scheme| match &scheme.kind {
        SchemeKind::ApiKey { place, key } => Some(identity(*place, key)),
        _ => None,
    });
    keys.collect()
}
