//! Adds the credentials that the contract of a service requires to a request.
//!
//! They come from the configuration, never from the input, and are marked so that no failure repeats them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{AUTHORIZATION, COOKIE, HeaderName, HeaderValue};
use panpan_contract::binding::{HttpBinding, ParameterLocation, SchemeKind, SecurityScheme};
use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::Credentials;

use crate::client::Outgoing;

/// The name of the secret for every scheme without a secret of its own.
const ANY: &str = "*";

/// Adds the credentials of the first alternative whose secrets are all configured. If there is none, the request is
/// sent without credentials: the service may accept that.
pub(super) fn add(
    binding: &HttpBinding,
    credentials: &Credentials,
    outgoing: &mut Outgoing,
) -> Result<(), Failure> {
    let secret = |scheme: &SecurityScheme| {
        let named = credentials.get(&scheme.name);
        let secret = named.or_else(|| credentials.get(ANY));
        secret.map(|secret| secret.expose().as_str())
    };
    let is_usable = |alternative: &&Vec<SecurityScheme>| {
        !alternative.is_empty() && alternative.iter().all(|it| secret(it).is_some())
    };
    let Some(alternative) = binding.security.iter().find(is_usable) else {
        return match credentials.get(ANY) {
            // The description names no scheme, although the service wants credentials.
            Some(secret) if binding.security.is_empty() => {
                let value = sensitive(&format!("Bearer {}", secret.expose()), ANY)?;
                outgoing.headers.entry(AUTHORIZATION).or_insert(value);
                Ok(())
            }
            _ => Ok(()),
        };
    };
    for scheme in alternative {
        let secret = secret(scheme).unwrap_or_default();
        add_credential(scheme, secret, outgoing)?;
    }
    Ok(())
}

fn add_credential(
    scheme: &SecurityScheme,
    secret: &str,
    outgoing: &mut Outgoing,
) -> Result<(), Failure> {
    let header = |text: &str| sensitive(text, &scheme.name);
    let headers = &mut outgoing.headers;
    match &scheme.kind {
        SchemeKind::Bearer => {
            headers.insert(AUTHORIZATION, header(&format!("Bearer {secret}"))?);
        }
        SchemeKind::Basic => {
            // Configured as user:password, or already encoded.
            let pair = match secret.contains(':') {
                true => BASE64_STANDARD.encode(secret),
                false => secret.to_owned(),
            };
            headers.insert(AUTHORIZATION, header(&format!("Basic {pair}"))?);
        }
        SchemeKind::Other { scheme } => {
            headers.insert(AUTHORIZATION, header(&format!("{scheme} {secret}"))?);
        }
        SchemeKind::ApiKey { place, key } => match place {
            ParameterLocation::Query | ParameterLocation::Querystring => {
                outgoing.url.query_pairs_mut().append_pair(key, secret);
            }
            ParameterLocation::Cookie => {
                headers.append(COOKIE, header(&format!("{key}={secret}"))?);
            }
            ParameterLocation::Header | ParameterLocation::Path => {
                let name = HeaderName::from_bytes(key.as_bytes());
                let name = name.map_err(|_| unusable(&scheme.name))?;
                headers.insert(name, header(secret)?);
            }
        },
    }
    Ok(())
}

/// A header value that is kept out of logs and failures.
pub(super) fn sensitive(text: &str, name: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(text).map_err(|_| unusable(name))?;
    value.set_sensitive(true);
    Ok(value)
}

fn unusable(name: &str) -> Failure {
    Failure::new(codes::NOT_CONFIGURED)
        .with_message(format!(
            "the secret configured as {name:?} contains characters that a header cannot carry"
        ))
        .with_detail("credential", name)
        .with_effect(Effect::None)
        .with_actions(["Ask the operator to check the secret: it may end in a line break"])
}
