//! What an operation asks of whoever calls the service.

use std::collections::HashSet;

use panpan_contract::binding::{ParameterLocation as Where, SchemeKind, SecurityScheme};
use serde_json::Value;

use super::parameters::identity;
use super::reader::Reader;
use crate::place::Place;

/// What a scheme counts, besides its name and its scopes.
const SCHEME_WEIGHT: usize = 50;

/// The alternatives of an operation, or those of the document where it says none.
pub(super) fn security(
    reader: &mut Reader<'_>,
    operation: &Value,
    place: &Place<'_>,
) -> Vec<Vec<SecurityScheme>> {
    let document = reader.document;
    let top = Place::at("");
    let (written, place) = match operation.get("security") {
        Some(own) => (own, place.name("security")),
        None => (&document["security"], top.name("security")),
    };
    let alternatives = written.as_array().into_iter().flatten().enumerate();
    alternatives
        .map(|(index, alternative)| {
            let place = place.index(index);
            let schemes = alternative.as_object().into_iter().flatten();
            schemes
                .map(|(name, scopes)| scheme(reader, name, scopes, &place.name(name)))
                .collect()
        })
        .collect()
}

fn scheme(
    reader: &mut Reader<'_>,
    name: &str,
    scopes: &Value,
    place: &Place<'_>,
) -> SecurityScheme {
    let scopes = scopes.as_array().into_iter().flatten();
    let scopes = scopes.filter_map(Value::as_str).map(str::to_owned);
    let scopes: Vec<_> = scopes.collect();
    let text: usize = scopes.iter().map(String::len).sum();
    reader.spend(SCHEME_WEIGHT + name.len() + text);
    SecurityScheme {
        name: name.to_owned(),
        kind: proof(reader, name, place),
        scopes,
    }
}

fn proof(reader: &mut Reader<'_>, name: &str, place: &Place<'_>) -> SchemeKind {
    let document = reader.document;
    let other = || SchemeKind::Other {
        scheme: name.to_owned(),
    };
    let Some(written) = document["components"]["securitySchemes"].get(name) else {
        let message = format!("{name:?} is not among the security schemes of the document");
        reader.warnings.note(place, message);
        return other();
    };
    let schemes = Place::at("/components/securitySchemes");
    let at = schemes.name(name);
    let Some(found) = reader.follow(written, &at, "how to prove who asks is not known") else {
        return other();
    };
    let proof = read(found.value);
    proof.unwrap_or_else(|| {
        let message = "is no security scheme that is known; it has to be satisfied by other means";
        reader.warnings.note(&found.place(&at), message);
        other()
    })
}

fn read(scheme: &Value) -> Option<SchemeKind> {
    let word = |member: &str| scheme.get(member).and_then(Value::as_str);
    Some(match word("type")? {
        "apiKey" => SchemeKind::ApiKey {
            place: match word("in")? {
                "query" => Where::Query,
                "header" => Where::Header,
                "cookie" => Where::Cookie,
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

/// The parameters that are credentials by what the document says, which no caller may give.
pub(super) fn credentials(security: &[Vec<SecurityScheme>]) -> HashSet<(Where, String)> {
    let schemes = security.iter().flatten();
    let keys = schemes.filter_map(|scheme| match &scheme.kind {
        SchemeKind::ApiKey { place, key } => Some(identity(*place, key)),
        _ => None,
    });
    keys.collect()
}
