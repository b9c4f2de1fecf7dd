//! Who asks: the credentials of the service, where its contract wants them.
//!
//! They come from configuration and never from the input, and stand nowhere a failure could repeat them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{AUTHORIZATION, COOKIE, HeaderName, HeaderValue};
use panpan_contract::binding::{HttpBinding, ParameterLocation, SchemeKind, SecurityScheme};
use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::Credentials;

use crate::client::Outgoing;

/// The name of the secret that stands for every scheme without one of its own.
pub(super) const ANY: &str = "*";

/// Adds what proves who asks, by the first alternative all of whose secrets are there. Without one the
/// request is sent as it is: the service knows best whether it minds.
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
    let usable = |alternative: &&Vec<SecurityScheme>| {
        !alternative.is_empty() && alternative.iter().all(|it| secret(it).is_some())
    };
    let Some(alternative) = binding.security.iter().find(usable) else {
        return match credentials.get(ANY) {
            // A service whose description forgets to say that it wants to know.
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
        send(scheme, secret, outgoing)?;
    }
    Ok(())
}

fn send(scheme: &SecurityScheme, secret: &str, outgoing: &mut Outgoing) -> Result<(), Failure> {
    let header = |text: &str| sensitive(text, &scheme.name);
    let headers = &mut outgoing.headers;
    match &scheme.kind {
        SchemeKind::Bearer => {
            headers.insert(AUTHORIZATION, header(&format!("Bearer {secret}"))?);
        }
        SchemeKind::Basic => {
            // Given as user:password, or encoded already.
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

pub(super) fn sensitive(text: &str, name: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(text).map_err(|_| unusable(name))?;
    value.set_sensitive(true);
    Ok(value)
}

fn unusable(name: &str) -> Failure {
    Failure::new(codes::NOT_CONFIGURED)
        .with_message(format!(
            "the secret configured as {name:?} cannot be sent: no header can hold it"
        ))
        .with_detail("credential", name)
        .with_effect(Effect::None)
        .with_actions(["Have the operator look at the secret: it may end in a line break"])
}
