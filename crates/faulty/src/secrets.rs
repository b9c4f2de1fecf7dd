//! The secrets that the service plants in its responses, so that tests can search for them.
//!
//! Written in parts so that secret scanners do not report them. None of them is valid anywhere.

/// The bearer token to configure for this service, which repeats it in a response. Nothing about its format
/// shows that it is a secret.
pub const CREDENTIAL: &str = "heron-quarry-lantern-meadow";

/// One planted secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Secret {
    /// The name that the table uses to plant it.
    pub name: &'static str,
    /// The planted text.
    pub text: &'static str,
    /// The part that must not be visible anywhere.
    pub core: &'static str,
}

const fn secret(name: &'static str, text: &'static str, core: &'static str) -> Secret {
    Secret { name, text, core }
}

/// Every secret that the service plants.
#[rustfmt::skip]
pub const SECRETS: [Secret; 13] = [
    secret("credential", CREDENTIAL, CREDENTIAL),
    secret("api key", concat!("q7Lw2", "ZnX9vB4tRk8"), concat!("q7Lw2", "ZnX9vB4tRk8")),
    secret("bearer", concat!("mF9kB5f4x1Jq", "M7wPz3Ty6Vd8"), concat!("mF9kB5f4x1Jq", "M7wPz3Ty6Vd8")),
    secret("card", concat!("5555 5555 ", "5555 4444"), concat!("5555 5555 ", "5555 4444")),
    secret("cloud key id", concat!("AKIA", "Q3EGRW7XN2ZTB5LM"), concat!("Q3EGRW7", "XN2ZTB5LM")),
    secret("cloud key", concat!("h4Jx/Rk2mPq8Zt5Vw7Yb", "3Nc6Lf9Gd1Sa0XeQuTiK"), concat!("Rk2mPq8Z", "t5Vw7Yb")),
    secret("connection string", concat!("postgres://app:", "Vk8mZq3xTw7r", "@db.example.com:5432/orders"), concat!("Vk8mZq", "3xTw7r")),
    secret("password", concat!("tr4vers3", "-Kettle-91"), concat!("tr4vers3", "-Kettle-91")),
    secret("private key", concat!("-----BEGIN PRIVATE", " KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ5nVqk1Lr", "8Xw0Zt\n-----END PRIVATE", " KEY-----"), concat!("J5nVqk1Lr", "8Xw0Zt")),
    secret("provider key", concat!("sk-", "proj-", "Zp4Wn8Xc2Vb6Lm0Kj5Hg", "9Fd3Sa7Qw1Er4Ty6Ui"), concat!("Zp4Wn8Xc", "2Vb6Lm")),
    secret("query token", concat!("u8Rz5Qe", "2Wk9Tx4Yb"), concat!("u8Rz5Qe", "2Wk9Tx4Yb")),
    secret("session", concat!("c3Vt7Mx", "1Zn6Gk0Pd"), concat!("c3Vt7Mx", "1Zn6Gk0Pd")),
    secret("signed token", concat!("eyJhbGciOiJI", "UzI1NiJ9.eyJzdWIiOiJ", "vcmRlcnMifQ.X2tR9wLq4Zb7Nc"), concat!("X2tR9wLq", "4Zb7Nc")),
];

/// The names of the secrets that are visible in a text.
///
/// ```
/// use panpan_faulty::{CREDENTIAL, leaked_in};
///
/// assert!(leaked_in("Bearer [REDACTED]").is_empty());
/// assert_eq!(leaked_in(format!("Bearer {CREDENTIAL}")), ["credential"]);
/// ```
pub fn leaked_in(text: impl AsRef<[u8]>) -> Vec<&'static str> {
    let text = text.as_ref();
    let is_visible = |secret: &&Secret| {
        let mut windows = text.windows(secret.core.len());
        windows.any(|window| window == secret.core.as_bytes())
    };
    SECRETS
        .iter()
        .filter(is_visible)
        .map(|secret| secret.name)
        .collect()
}

/// The planted text of a secret.
pub(crate) fn text_of(name: &str) -> Option<&'static str> {
    let found = SECRETS.iter().find(|secret| secret.name == name);
    found.map(|secret| secret.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_secret_is_found_where_it_is_planted_and_nowhere_else() {
        for secret in SECRETS {
            assert_eq!(leaked_in(format!("({})", secret.text)), [secret.name]);
            assert!(secret.core.len() >= 12, "{}", secret.name);
        }
        assert!(leaked_in("").is_empty());
    }
}
