//! The language in which the table says what a service does.
//!
//! Only the words; what is done about them stands in `perform`.

use serde::Deserialize;
use serde_json::Value;

/// What the service does when it is asked.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "does", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// Gives an answer in proper form, perhaps not to its end.
    Answers {
        /// The status; also one that HTTP does not have.
        status: u16,
        /// Headers in their order; values may hold templates.
        #[serde(default)]
        headers: Vec<(String, String)>,
        /// The body, none where there is none.
        #[serde(default)]
        body: Option<Body>,
        /// After how many bytes of the body it stops, though more were promised.
        #[serde(default)]
        stops_after: Option<usize>,
        /// What it does afterwards.
        #[serde(default)]
        then: Then,
    },
    /// Sends exactly these bytes, whatever they are.
    Sends {
        /// The bytes, each written as the character of the same number.
        bytes: String,
        /// What it does afterwards.
        then: Then,
    },
    /// Sends its caller on, from one address of its own to the next.
    Redirects {
        /// The status.
        status: u16,
        /// After how many hops there is an answer; without it, the way is a circle.
        #[serde(default)]
        hops: Option<u32>,
    },
    /// Answers so slowly that nobody waits for the end.
    Drips {
        /// The status.
        status: u16,
    },
    /// Sends more than anybody wants.
    Floods {
        /// The status.
        #[serde(default = "success")]
        status: u16,
        /// In which part of the answer.
        part: Part,
        /// How much.
        bytes: u64,
    },
    /// Is not, or not rightly, where its address says.
    LivesAt {
        /// Where it is looked for.
        place: Place,
    },
}

const fn success() -> u16 {
    200
}

/// A body.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Body {
    /// A text; it may hold templates, and gets no content type by itself.
    Text(String),
    /// One that has to be made.
    Made(Made),
}

/// A body that has to be made.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Made {
    /// A JSON value, sent as `application/json` unless a header says otherwise; its texts may hold templates.
    Json(Value),
    /// Bytes, each written as the character of the same number.
    Bytes(String),
    /// So many lists in one another.
    Nested(usize),
    /// A text at some distance from the beginning.
    Padded {
        /// The distance.
        before: usize,
        /// The text; it may hold templates.
        text: String,
    },
}

/// What the service does when it has said what it had to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// Closes the connection.
    #[default]
    Close,
    /// Keeps the connection and says nothing.
    Hang,
    /// Breaks the connection off.
    Reset,
}

/// The part of an answer that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A body whose length is promised.
    Body,
    /// A body in chunks.
    Chunks,
    /// What a body of gzip unpacks to.
    Gzip,
    /// One header.
    Header,
    /// All headers together.
    Headers,
    /// Answers that only say that there will be one.
    Interim,
}

/// Declares the places, so that each is named once.
macro_rules! places {
    ($($(#[$doc:meta])+ $place:ident = $word:literal,)+) => {
        /// Where a service is looked for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
        pub enum Place {
            $($(#[$doc])+ #[serde(rename = $word)] $place,)+
        }

        impl Place {
            /// Every place.
            pub const ALL: &'static [Place] = &[$(Place::$place,)+];

            /// The place a word of the table stands for.
            pub fn of_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Place::$place),)+ _ => None }
            }
        }
    };
}

places! {
    /// Where it is, without TLS.
    Plain = "plain",
    /// Where it is, with a certificate of the service's authority.
    Tls = "tls",
    /// At a port nobody listens on.
    Nobody = "nobody",
    /// Under a name that has no address.
    NoName = "no_name",
    /// Behind a certificate that only vouches for itself.
    SelfSigned = "self_signed",
    /// Behind a certificate whose time is over.
    Expired = "expired",
    /// Behind a certificate of another host.
    OtherHost = "other_host",
    /// By TLS where plain HTTP is spoken.
    HttpsOnPlain = "https_on_plain",
    /// By TLS where nothing is ever said.
    HttpsOnSilence = "https_on_silence",
    /// By plain HTTP where TLS is spoken.
    HttpOnTls = "http_on_tls",
}
