//! Values that are not secret even where a secret is expected: placeholders, references to the
//! place where a secret is stored, and single words such as `missing` or `string`.

use std::sync::LazyLock;

use regex::Regex;

use super::names::{is_empty_value, is_sensitive_name, listed};
use super::prose::is_everyday_word;
use super::rules::{any_of, pattern};
use super::shape::{Shape, shape_of};

/// Whether a connection string has no member that could be a secret.
fn is_connection_without_secret(value: &str) -> bool {
    let pairs = value.split(';').filter(|it| !it.trim().is_empty());
    let is_open = |pair: &str| {
        pair.split_once('=')
            .is_some_and(|(name, _)| !is_sensitive_name(name))
    };
    const PLACES: &str =
        "server host hostname database dbname driver endpoint address port data initial";
    let is_place = |pair: &str| {
        listed!(
            PLACES,
            pair.trim().split([' ', '=']).next().unwrap_or_default(),
        )
    };
    value.contains(';')
        && pairs.clone().any(is_place)
        && pairs.clone().count() > 1
        && pairs.into_iter().all(is_open)
}

/// Whether a value where a secret is expected is not a secret.
pub(super) fn is_harmless(value: &str) -> bool {
    let value = value.trim();
    if value.len() < 16 && value.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        let is_mask =
            value.len() >= 4 && value.bytes().all(|byte| byte.eq_ignore_ascii_case(&b'x'));
        return is_empty_value(value) || listed!(STATES, value) || is_mask;
    }
    let inside = value
        .trim_start_matches(['[', '('])
        .trim_end_matches([']', ')']);
    let is_reference = REFERENCE.is_match(value) || REFERENCE.is_match(inside);
    is_empty_value(value)
        || is_state(value)
        || listed!(STATES, value)
        || is_placeholder(value)
        || is_reference
        || is_connection_without_secret(value)
        || is_plain_address(value)
        || listed!(MECHANISMS, value)
}

/// Names of authentication mechanisms.
const MECHANISMS: &str =
    "xoauth2 oauthbearer cram-md5 digest-md5 scram-sha-1 scram-sha-256 gssapi ntlm";

/// Whether a value is a URL without anything that could be a secret.
fn is_plain_address(value: &str) -> bool {
    let rest = value
        .strip_prefix("https://")
        .or_else(|| value.strip_prefix("http://"));
    let is_plain = |part: &str| matches!(shape_of(part), Shape::Word | Shape::KnownFormat);
    rest.is_some_and(|rest| {
        !rest.contains(['@', ' ', '%'])
            && rest
                .split(['/', '?', '&', '=', '#', ','])
                .all(|part| part.is_empty() || is_plain(part))
    })
}

/// Whether a name describes a problem: `too_short`, `not_numeric`.
fn is_state(value: &str) -> bool {
    let parts = value.split(['_', '-']);
    let is_word = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_alphabetic());
    let count = parts.clone().count();
    let is_known = |it: &str| is_everyday_word(it) || listed!(STATES, it);
    let known = parts.clone().filter(|it| is_known(it)).count();
    count >= 2
        && parts.clone().all(is_word)
        && known * 3 >= count * 2
        && parts.into_iter().next().is_some_and(is_known)
}

/// Words for a problem with a value, or for its type.
const STATES: &str = "absent any array bigint blank bool boolean bytes char confirmed date datetime denied delete disabled empty enabled expired \
    dict float forbidden from function hidden incorrect insert int integer invalid list long malformed map masked mismatch missing nan needed never nonetype number numeric object omitted \
    optional present redacted promise rejected required revoked select set str string symbol text tuple undefined unchanged unknown unset unsupported update uuid valid \
    values varchar weak where wrong \
    erforderlich pflichtfeld ungültig fehlt leer falsch obligatoire requis requise invalide manquant manquante obligatorio obligatoria requerido \
    requerida inválido inválida incorrecto incorrecta obrigatório obrigatória obbligatorio obbligatoria mancante verplicht ongeldig obligatorisk ugyldig \
    ogiltig påkrævet pakollinen virheellinen wymagane nieprawidłowe povinné neplatné kötelező érvénytelen zorunlu geçersiz обязательно обязателен \
    неверно недействителен обов'язково 必須 必填 無効 无效 필수 wajib";

/// Whether a text is a mask or a placeholder for a value.
pub(super) fn is_placeholder(value: &str) -> bool {
    const MARKS: &str = "*•xX.#-_?●█";
    if value.chars().all(|it| it == '…') {
        return true;
    }
    let is_of_marks = value.len() >= 3 && value.chars().all(|it| MARKS.contains(it))
        || value == "-"
        || value == "*";
    let is_masked = [
        "***",
        "xxxx",
        "•••",
        "●●●",
        "[REDACTED]",
        "[FILTERED]",
        "[MASKED]",
        "[HIDDEN]",
        "(hidden)",
        "(redacted)",
    ]
    .iter()
    .any(|mask| value.contains(mask));
    let is_variable = |word: &str| {
        let name = word.trim_start_matches(['"', '\'', '\\']).strip_prefix('$');
        let name = name.map(|it| it.split(|it: char| !it.is_alphanumeric() && it != '_'));
        let is_name = |it: &str| {
            it.len() >= 3
                && it
                    .bytes()
                    .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        };
        name.is_some_and(|mut it| it.next().is_some_and(is_name))
    };
    if value.contains('$') && value.split_whitespace().all(is_variable) {
        return true;
    }
    let inside = value.trim_matches(|it: char| !it.is_alphanumeric());
    let is_masked = is_masked
        || inside.len() < value.len()
            && listed!(
                "redacted filtered masked hidden removed omitted censored",
                inside,
            );
    let mut words = value.split(' ').rev();
    // `Scheme ${KEY}`: the words in front are the scheme.
    let is_put_in = value.contains(' ')
        && words.next().is_some_and(|it| PLACEHOLDER.is_match(it))
        && words.all(|it| it.bytes().all(|byte| byte.is_ascii_alphabetic()));
    is_of_marks || is_masked || is_put_in || PLACEHOLDER.is_match(value)
}

/// Names in brackets, and the variables of templates and shells.
static PLACEHOLDER: LazyLock<Regex> = pattern!(&any_of(&[
    r"<\p{Alphabetic}[\w .:/-]*>?",
    r"<\d+ [a-z]+>",
    r"(?i:change[-_]?me[-_][a-z_-]{6,}|replace[-_](?:me|with)[a-z_-]*)",
    r"\$\{.*\}?",
    r"\$\(.*",
    r"\$(?:[A-Z_][A-Z0-9_]*|[a-z_]+|\d{1,2})",
    r"\{\{.*\}?\}?",
    r"\{[\w. -]*\}",
    r"%\(?\w*\)?[sdvq]",
    r"%[A-Z_]+%",
    r"%\{\w+\}",
    r"(?i:\[(?:redacted|filtered|masked|hidden|protected|secret|removed|omitted|censored|sensitive)[^\]]*\]?)",
    r"(?:\d+(?:\.\d+)?(?:ms|us|s|m|h|d))+",
    r"\d+(?:\.\d+){2,3}",
    r"\((?:hidden|redacted|sensitive|masked|known|not|unset|empty)\b[^)]*\)?",
    r"[\w-]+=<.*",
    r"[\w.-]+:(?:x{3,}|\*{3,}|<\w+>)@.*",
    r"(?i:(?:your|my|some|the|insert|enter|replace|example|dummy|sample)[-_ ](?:[a-z]+[-_ ])*(?:key|token|secret|password|pass|pin|code|value|here|id)(?:[-_ ]here)?)",
    r"(?i:VALUE_SPECIFIED_IN_NO_LOG_PARAMETER|x{4,}|changeit-here|not[-_ ]shown|no[-_ ]log)",
]));

/// References to a stored value, or code that reads it.
static REFERENCE: LazyLock<Regex> = pattern!(&any_of(&[
    r"(?i)(?:arn|urn|vault|ref|secretref|keyvault|op|ssm|env|file|sealed)(?::|\+)(?://)?[\w./:#@-]+",
    r"(?:projects|secrets|kv|secret)/[\w./-]+",
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}\S*)?",
    r"(?:process\.env|os\.environ|os\.getenv|System\.getenv|ENV|env|secrets|config|vars?|params?|self|this|ctx|settings|options|req|request|user|data|local|module|form|args|kwargs|body|payload|opts|cfg|state|props)(?:\.|\[|\().*",
    r"[A-Za-z_][\w.]*\(.*",
    r#"[a-z_]{3,}\[["'&:].*"#,
    r"[\w./~-]+\.(?:crt|pem|key|json|ya?ml|txt|env|conf|toml|ini|[jt]sx?|py|rb|go|java|rs|xml|html|p12|jks|pub)",
    r"[a-z][a-z_-]*(?:/[a-z][a-z0-9_-]*)+",
    r"\(\w.*",
    r"\\[a-z]+\{?.*",
    r"@[A-Za-z_]\w*",
    r":[a-z_]\w*",
    r"\?\w*",
    r"/.*[\\^$*+?{}\[\]].*/?[gimsuy]*",
    r"\^.*\$?",
    r"\[(?:\\?[A-Za-z0-9]-\\?[A-Za-z0-9]|\\[dws]|[^\]\w]).*",
]));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_told_apart_from_values() {
        let harmless = "missing|required|string|null||<your-api-key>|${DB_PASSWORD}|{{ secrets.TOKEN }}|****|xxxxxx|process.env.API_KEY|\
            [FILTERED]|$NPM_TOKEN|YOUR_API_KEY|arn:aws:secretsmanager:eu-west-1:1:secret:prod/db-CPcgEO|projects/1/secrets/db-pass/versions/latest|\
            ?|:password|$CI_JOB_TOKEN $CI_URL/x|<ваш_токен>|<65612 bytes>|2024-01-08|obligatoire|session['token']|getToken(user)|^[A-Z]{8,}$|%s|(sensitive value)";
        for value in harmless.split('|') {
            assert!(is_harmless(value), "{value}");
        }
        for value in [
            "hunter2",
            "swordfish",
            "correct horse battery staple",
            "$ecret1",
            "$Winter2024",
            "changeme",
            "pa{ss}word",
            "<3cats>9!",
            "4821",
            "a",
        ] {
            assert!(!is_harmless(value), "{value}");
        }
    }
}
