//! The format of faults in the table.
//!
//! Only the data types; `perform` performs them.

use serde::Deserialize;
use serde_json::Value;

/// What the service does with a request.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "does", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// Sends a well-formed response, possibly incomplete.
    Answers {
        /// The status, which may be unknown to HTTP.
        status: u16,
        /// Headers in order; values may contain templates.
        #[serde(default)]
        headers: Vec<(String, String)>,
        /// The body, if there is one.
        #[serde(default)]
        body: Option<Body>,
        /// The number of body bytes after which it stops, although more were announced.
        #[serde(default)]
        stops_after: Option<usize>,
        /// What it does afterwards.
        #[serde(default)]
        then: Then,
    },
    /// Sends exactly these bytes.
    Sends {
        /// The bytes, each written as the character of the same number.
        bytes: String,
        /// What it does afterwards.
        then: Then,
    },
    /// Redirects the client, from one of its paths to the next.
    Redirects {
        /// The status.
        status: u16,
        /// The number of redirects before a response; without it, the redirects are a cycle.
        #[serde(default)]
        hops: Option<u32>,
    },
    /// Responds so slowly that clients give up.
    Drips {
        /// The status.
        status: u16,
    },
    /// Sends an oversized response.
    Floods {
        /// The status.
        #[serde(default = "success")]
        status: u16,
        /// The oversized part.
        part: Part,
        /// The size.
        bytes: u64,
    },
    /// Is reached through a faulty endpoint.
    LivesAt {
        /// The endpoint.
        #[serde(rename = "place")]
        endpoint: Endpoint,
    },
}

const fn success() -> u16 {
    200
}

/// A body.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Body {
    /// A text; may contain templates, and gets no content type by default.
    Text(String),
    /// A body that is generated.
    Generated(Generated),
}

/// A body that is generated.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Generated {
    /// A JSON value, sent as `application/json` unless a header says otherwise; its texts may contain templates.
    Json(Value),
    /// Bytes, each written as the character of the same number.
    Bytes(String),
    /// This many nested lists.
    Nested(usize),
    /// A text at some distance from the start.
    Padded {
        /// The distance.
        before: usize,
        /// The text; may contain templates.
        text: String,
    },
}

/// How the service ends a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// Closes the connection.
    #[default]
    Close,
    /// Keeps the connection and sends nothing.
    Hang,
    /// Resets the connection.
    Reset,
}

/// The oversized part of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A body with an announced length.
    Body,
    /// A chunked body.
    Chunks,
    /// The decompressed size of a gzip body.
    Gzip,
    /// One header.
    Header,
    /// All headers together.
    Headers,
    /// Interim responses (1xx).
    Interim,
}

/// Declares the endpoints, each once.
macro_rules! endpoints {
    ($($(#[$doc:meta])+ $endpoint:ident = $word:literal,)+) => {
        /// An endpoint of the service.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
        pub enum Endpoint {
            $($(#[$doc])+ #[serde(rename = $word)] $endpoint,)+
        }

        impl Endpoint {
            /// Every endpoint.
            pub const ALL: &'static [Endpoint] = &[$(Endpoint::$endpoint,)+];

            /// The endpoint with this name in the table.
            pub fn named(word: &str) -> Option<Self> {
                match word { $($word => Some(Endpoint::$endpoint),)+ _ => None }
            }
        }
    };
}

endpoints! {
    /// The working endpoint without TLS.
    Plain = "plain",
    /// The working endpoint with a valid certificate.
    Tls = "tls",
    /// A port that nothing listens on.
    ClosedPort = "nobody",
    /// A host name that does not resolve.
    UnresolvableName = "no_name",
    /// A self-signed certificate.
    SelfSigned = "self_signed",
    /// An expired certificate.
    Expired = "expired",
    /// A certificate for another host.
    OtherHost = "other_host",
    /// TLS to a port that expects plain HTTP.
    HttpsOnPlain = "https_on_plain",
    /// TLS to a port that never sends anything.
    HttpsOnSilence = "https_on_silence",
    /// Plain HTTP to a port that expects TLS.
    HttpOnTls = "http_on_tls",
}
