//! Labels next to values in JSON: `{"loc": ["body", "password"], "input": "x"}`, `["Cookie", "x"]`,
//! and lists of names next to lists of values.

use serde_json::{Map, Value};

use super::harmless::is_harmless;
use super::lexicon;
use super::names::{WordSet, is_descriptive, is_sensitive_name, listed, phrase_strength};
use super::passwords::is_phrase;
use super::prose::is_everyday_word;
use super::shape::{Shape, shape_of};

/// Members that contain the name of a value.
static LABELS: WordSet = WordSet::new(
    "name key header field property param parameter path loc location pointer instancepath instancelocation datapath attribute column label target \
    fieldname propertyname propertypath parametername argument argumentname arg variable source fieldpath propertyname env setting option input_name flag id element \
    code_path jsonpath k n member traversal subject question prompt",
);

/// Name endings of such members.
const LABEL_ENDINGS: [&str; 5] = ["name", "key", "field", "path", "label"];

/// Members that describe a value and do not contain it.
static REMARKS: WordSet = WordSet::new(
    "message msg description reason code type title error errors problem rule id ids status severity kind hint help detail details constraint keyword schemapath \
    expected format pattern in ip email user username login host url time timestamp at ticket request requestid trace traceid step class summary note level logger event \
    component service version ref category object objectname model table resource hash digest fingerprint docs documentation",
);

/// Members that contain the value.
static VALUES: WordSet = WordSet::new(
    "value values input actual rejectedvalue invalidvalue attemptedvalue received given got provided supplied attempted val raw current currentvalue \
    old new oldvalue newvalue previous was sent rejected offending instance data content contents text default found submitted payload v body actualvalue passed \
    originalvalue rawvalue stringvalue textvalue string_value valuestring inputvalue badvalue bad_value parsed example from to setting vals answer",
);

/// Members that may contain the label or the value one level deeper.
static CONTAINERS: WordSet = WordSet::new(
    "meta context params source extensions attributes details info detail properties arguments state extra ctx fix node parameter field subject \
    variable header property parameters",
);

/// Whether a member of the object names a secret.
pub(super) fn labels_secret(members: &Map<String, Value>) -> bool {
    members.len() > 1
        && members.iter().any(|(name, member)| {
            let normalised = normalised(name);
            let is_inner_label = |(name, member): (&String, &Value)| is_label(&self::normalised(name)) && names_secret(member);
            is_label(&normalised) && names_secret(member)
                || listed!("type kind", &normalised) && member.as_str().is_some_and(is_kind_of_secret)
                || matches!(member, Value::Object(inner) if CONTAINERS.contains(&normalised) && inner.iter().any(is_inner_label))
        })
}

fn is_label(normalised: &str) -> bool {
    LABELS.contains(normalised)
        || LABEL_ENDINGS.iter().any(|it| normalised.ends_with(it)) && normalised.len() > 4
}

/// Whether a word for a type of value is a type of secret.
fn is_kind_of_secret(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    [
        "password",
        "passphrase",
        "passcode",
        "otp",
        "pin",
        "api_key",
        "apikey",
        "secret",
    ]
    .iter()
    .any(|it| kind.ends_with(it))
}

/// Whether a member of a labelled object contains the value: its name is one for values, or it
/// looks like a secret.
pub(super) fn holds_value(name: &str, member: &Value) -> bool {
    let normalised = normalised(name);
    let is_value = VALUES.contains(&normalised) || normalised.ends_with("value");
    let may_be = !is_label(&normalised) && !REMARKS.contains(&normalised);
    match member {
        Value::String(text) if is_label(&normalised) && is_secret_label(text) => false,
        Value::String(text) => is_value && can_be_secret(text) || may_be && looks_secret(text),
        Value::Number(number) => {
            (is_value || listed!("entered submitted code", &normalised))
                && number.to_string().len() >= 4
        }
        Value::Array(items) => is_value && !items.is_empty(),
        Value::Object(_) => is_value,
        _ => false,
    }
}

/// Whether a member of a record under a sensitive name is the secret: its name is one for values,
/// or it looks like a secret.
pub(super) fn is_secret_of_record(name: &str, member: &Value) -> bool {
    const PLAIN: &str = "plain plaintext clear cleartext text str string phrase word confirm confirmation repeat pass";
    let normalised = normalised(name);
    let is_value = VALUES.contains(&normalised)
        || normalised.ends_with("value")
        || listed!(PLAIN, &normalised);
    match member {
        Value::String(text) if is_harmless(text) => false,
        Value::String(text) => {
            is_value || (!is_descriptive(name) || normalised == "expected") && looks_secret(text)
        }
        Value::Number(number) => {
            (is_value || !is_descriptive(name)) && number.to_string().len() >= 4
        }
        Value::Array(items) => is_value && items.iter().all(Value::is_string),
        _ => false,
    }
}

fn looks_secret(text: &str) -> bool {
    match shape_of(text) {
        Shape::Password | Shape::Opaque => !text.contains(' '),
        Shape::Digits => (4..=8).contains(&text.len()),
        Shape::Word => is_phrase(text),
        Shape::Uuid | Shape::KnownFormat => false,
    }
}

/// Whether a member may contain the label or the value one level deeper.
pub(super) fn is_container(name: &str) -> bool {
    CONTAINERS.contains(&normalised(name))
}

fn normalised(name: &str) -> String {
    let letters = name
        .chars()
        .filter(|it| *it != '_' && *it != '-' && *it != '$');
    letters.map(|it| it.to_ascii_lowercase()).collect()
}

/// Whether a label names a secret: an identifier, a path to one, or a few words.
fn names_secret(label: &Value) -> bool {
    match label {
        Value::String(text) => is_secret_label(text),
        Value::Array(steps) => {
            let mut steps = steps.iter().filter_map(Value::as_str);
            steps.clone().any(is_secret_label)
                && !steps.next_back().is_some_and(is_description_step)
        }
        _ => false,
    }
}

pub(super) fn is_secret_label(text: &str) -> bool {
    const LONGEST: usize = 80;
    const WORDS: usize = 4;
    if text.is_empty()
        || text.len() > LONGEST
        || text.contains("://")
        || text.trim_end_matches('?').contains(['=', '?', '&'])
    {
        return false;
    }
    let is_whole_label = |it: lexicon::Mention| {
        let is_typed_by_people = matches!(
            it.kind,
            lexicon::SecretKind::Password | lexicon::SecretKind::Code
        );
        is_typed_by_people && it.start == 0 && it.end == text.len()
    };
    if lexicon::mentions(text).any(is_whole_label) {
        return true;
    }
    if text.contains(' ') {
        let names = || {
            phrase_strength(text).is_some()
                || lexicon::mentions(text).any(|it| {
                    it.kind != lexicon::SecretKind::Token && it.kind != lexicon::SecretKind::Generic
                        || text[it.start..it.end].eq_ignore_ascii_case("secret")
                })
        };
        return text.split(' ').count() <= WORDS + 3 && names();
    }
    // A path may also be the route of a request.
    let is_route = text.starts_with('/')
        && ["/oauth", "/auth", "/api/", "/v1", "/v2", "/login", "/token"]
            .iter()
            .any(|it| text.starts_with(it))
        && !text.ends_with("/password")
        && !text.ends_with("/passphrase");
    let is_sensitive = |step: &str| !step.is_empty() && is_sensitive_name(step);
    let mut steps = text.split(['/', '.', '[', ']', ':', '>', '\'', '"']);
    !is_route
        && steps.clone().any(is_sensitive)
        && !steps.next_back().is_some_and(is_description_step)
}

/// Whether the last step of a path is a description of a secret: `secrets[2].name`.
fn is_description_step(step: &str) -> bool {
    let is_word = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_word && (is_descriptive(step) || step == "role") && !is_sensitive_name(step)
}

/// Whether a text can be a secret: not a type, not a word for a state, not a sentence.
fn can_be_secret(text: &str) -> bool {
    const METHODS: &str = "GET POST PUT PATCH DELETE HEAD body query header cookie path form formdata env environment";
    !listed!(METHODS, text) && !is_everyday_word(text) && !text.starts_with(['£', '€', '¥'])
}

/// The columns that contain secrets, in lists next to a list of names:
/// `{"columns": ["id", "token"], "row": [1, "x"]}`.
pub(super) fn secret_columns(members: &Map<String, Value>) -> Option<(usize, Vec<usize>)> {
    const COLUMNS: &str = "columns fields headers keys names cols columnnames fieldnames header labels params parameters attributes variables heads";
    members.iter().find_map(|(name, member)| {
        let names = member
            .as_array()
            .filter(|_| listed!(COLUMNS, &normalised(name)))?;
        let name_of = |it: &Value| match it {
            Value::String(text) => Some(text.clone()),
            Value::Object(column) => ["name", "text", "label", "title", "field"]
                .iter()
                .find_map(|it| column.get(*it)?.as_str())
                .map(str::to_owned),
            _ => None,
        };
        let names: Vec<String> = names.iter().map_while(name_of).collect();
        let secret = |(at, name): (usize, &String)| is_secret_label(name).then_some(at);
        let indexes: Vec<usize> = names.iter().enumerate().filter_map(secret).collect();
        (names.len() > 1 && !indexes.is_empty()).then_some((names.len(), indexes))
    })
}

/// Whether a list alternates names and values.
pub(super) fn is_flat_map(items: &[Value]) -> bool {
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let names: Vec<&str> = items.iter().step_by(2).filter_map(Value::as_str).collect();
    items.len() >= 4
        && items.len().is_multiple_of(2)
        && names.len() * 2 == items.len()
        && names.iter().all(|it| is_name(it))
        && {
            items.chunks(2).any(|pair| {
                let is_secret = pair[0].as_str().is_some_and(is_secret_label);
                is_secret && pair[1].as_str().is_some_and(looks_secret)
            })
        }
}

/// Whether an object is a call that passes a secret without a name:
/// `{"method": "user.login", "params": ["bob", "x"]}`.
pub(super) fn is_login_call(members: &Map<String, Value>) -> bool {
    const METHODS: &str =
        "method function procedure call operation operationname event action command";
    const LOGINS: [&str; 6] = [
        "login",
        "authenticate",
        "password",
        "signin",
        "auth",
        "athenticate",
    ];
    members.iter().any(|(name, member)| {
        let method = member
            .as_str()
            .filter(|_| listed!(METHODS, &normalised(name)));
        let method = method.map(str::to_ascii_lowercase);
        method.is_some_and(|it| LOGINS.iter().any(|login| it.contains(login)))
    })
}

/// Whether a member of such a call contains its arguments.
pub(super) fn holds_arguments(name: &str) -> bool {
    listed!(
        "params args arguments variables parameters argv",
        &normalised(name),
    )
}

/// Whether an argument of such a call is the secret.
pub(super) fn is_secret_argument(argument: &Value) -> bool {
    argument.as_str().is_some_and(looks_secret)
}

/// Whether a list is one name and its value.
pub(super) fn is_pair(items: &[Value]) -> bool {
    let [Value::String(name), Value::String(value)] = items else {
        return false;
    };
    !name.contains(' ')
        && is_secret_label(name)
        && !is_secret_label(value)
        && (shape_of(value) != Shape::Word || value.len() > 24 || value.contains(' '))
}
