//! Rules for secrets without a provider prefix: named values, authentication schemes, signed
//! tokens, key blocks, credentials in URLs and commands, card numbers.

use super::credentials::{
    any, has_key_body, is_basic_pair, is_bearer_token, is_random, is_unmasked, is_visible_secret,
};
use super::rules::{Find, Rule, Trigger, rule};
use super::{base64_text, cards, commands, mentions, pairs, sql, urls};

/// The rule whose anchors are the stems of the sensitive names.
pub(super) const NAMED_VALUE: &str = "named value";

/// Name, trigger, how it is found, sample, the secret in the sample, innocent.
#[rustfmt::skip]
pub(super) static GENERIC_RULES: [Rule; 21] = [
    rule(
        NAMED_VALUE, Trigger::Anchors(pairs::STEMS),
        Find::Code(pairs::find),
        "login failed: password=hunter2, try again", "hunter2",
        "next_page_token=abc123def456; keyboard: qwerty77; password must be 8 long",
    ),
    rule(
        "value that a sentence names", Trigger::Mention,
        Find::Code(mentions::find),
        "we could not verify 482913 as your one-time code", "482913",
        "API key not found for project my-project-42; the code 482913 is on the box",
    ),
    rule(
        "bearer credential", Trigger::Anchors("^bearer"),
        Find::anywhere(r#"(?i)(?:\b|%[0-9a-f]{2}|\\[nrt])bearer(?:\s|%20|\+|:|=|\\*["'])+([a-z0-9._~+/-]{6,}=*)"#, is_bearer_token),
        "sent bearer mF_9.B5f-4.1JqM and got 401", "mF_9.B5f-4.1JqM",
        "the bearer of this letter; Bearer authentication failed; bearer token expired",
    ),
    rule(
        "basic credential", Trigger::Anchors("^basic"),
        Find::anywhere(r#"(?i)(?:\b|%[0-9a-f]{2}|\\[nrt])basic(?:\s|%20|\+|:|\\*["'])+([a-z0-9+/_-]{4,}=*)"#, is_basic_pair),
        "sent Basic dXNlcjpwYXNz to the proxy", "dXNlcjpwYXNz",
        "basic authentication failed; Basic training; basic plan",
    ),
    rule(
        "signed token", Trigger::Anchors("^eyJ"),
        Find::word(r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,3}", any),
        concat!("jwt eyJhbGciOiJI", "UzI1NiJ9.eyJzdWIiOiIx", "In0.c2lnbmF0dXJl expired"), concat!("eyJzdWIiOiIx", "In0.c2lnbmF0dXJl"),
        "cursor eyJpZCI6MTAwfQ of page eyJpZCI6MTAwfQ.json",
    ),
    rule(
        "private key block", Trigger::Anchors("PRIVATE"),
        Find::anywhere(r"(?s)(-{4,5} ?BEGIN(?: |\+|%20)(?:[A-Z0-9]+(?: |\+|%20)){0,4}PRIVATE(?: |\+|%20)KEY.*?(?:-{4,5} ?END[A-Z0-9 +%]{0,60}-{4,5}|\z))", has_key_body),
        concat!("-----BEGIN RSA PRIV", "ATE KEY-----\nMIIEow\nabc\n-----END RSA PRIV", "ATE KEY-----\n"), "MIIEow",
        "-----BEGIN PUBLIC KEY-----\nMIIBIj\n-----END PUBLIC KEY-----\nPRIVATE PROPERTY",
    ),
    rule(
        "end of a private key block", Trigger::Anchors("PRIVATE"),
        Find::anywhere(r"((?:[A-Za-z0-9+/=]{16,}(?:\s|\\[nr])*)+)-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY", any),
        concat!("...QhVhQhVhQhVhQhVhQhVh\nQhVhQhVhQhVhQhVhQh==\n-----END PRIV", "ATE KEY-----"), "QhVhQhVhQhVhQhVhQh==",
        "QhVhQhVhQhVhQhVhQhVh\n-----END CERTIFICATE----- PRIVATE",
    ),
    rule(
        "user information of a URL", Trigger::Anchors(":// :\\/\\/ %3a%2f%2f %253a%252f%252f"),
        Find::Code(urls::find_user_information),
        "cannot reach postgres://app:s3cr3t@db.example.com:5432/main", "s3cr3t",
        "cannot reach https://example.com:8443/@scope/name?mail=bob@example.com",
    ),
    rule(
        "user of a command", Trigger::Anchors("curl wget"),
        Find::Code(urls::find_command_users),
        "curl -s -u bob:opensesame https://example.com", "opensesame",
        "curl -s https://example.com -o a:b; docker run -p 80:80",
    ),
    rule(
        "password of a command", Trigger::Anchors(commands::ANCHORS),
        Find::Code(commands::find),
        "mysqldump -h db -u root -popensesame main", "opensesame",
        "mysql -h db -P 3306 -p --batch; mysql -u root -p main; docker run -p 80:80",
    ),
    rule(
        "secret of a database statement", Trigger::Anchors(sql::ANCHORS),
        Find::Code(sql::find),
        "INSERT INTO users (name, password) VALUES ('bob','hunter2')", "hunter2",
        "INSERT INTO users (name, city) VALUES ('bob', 'Bern'); select id from t where token_id = 'a1'; identified by its name; Key (parcel_ref)=(LX-2025-00081734) already exists in api_tokens",
    ),
    rule(
        "secret in encoded JSON", Trigger::Anchors(base64_text::ANCHORS),
        Find::Code(base64_text::find),
        "state eyJwYXNzd29yZCI6Imh1bnRlcjIifQ== did not verify", "eyJwYXNzd29yZCI6Imh1bnRlcjIifQ",
        "cursor eyJpZCI6MTAwLCJzb3J0IjoibmFtZSJ9 has expired",
    ),
    rule(
        "registry credential", Trigger::Anchors("^auth$"),
        Find::anywhere(r#"(?:\b|%22)auth(?:\\*"|%22)\s*(?::|%3A)\s*(?:\\*"|%22)([A-Za-z0-9+/_-]{8,}=*)"#, is_basic_pair),
        r#"{"auths":{"x":{"auth":"dXNlcjpwYXNz"}}}"#, "dXNlcjpwYXNz",
        r#"{"auth":"required","author":"dXNlcjpwYXNz"}"#,
    ),
    rule(
        "session cookie", Trigger::Anchors("sessionid= connect.sid="),
        Find::anywhere(r#"\b(?:sessionid|connect\.sid)=([^\s;&"'\\,]{8,})"#, any),
        "sent sessionid=k3v9q0x1z8w7 and got 403", "k3v9q0x1z8w7",
        "sessionid=5; sessionid is missing",
    ),
    rule(
        "driver source name", Trigger::Anchors("tcp( tcp%28 unix( unix%28 @// @(description"),
        Find::anywhere(r"(?i)[\w.-]+(?:[:/]|%3a)([^\s@]+)(?:@|%40)(?:(?:tcp|unix)(?:\(|%28)|//|\(description)", is_unmasked),
        "open app:opensesame@tcp(db:3306)/main", "opensesame",
        "open app@tcp(db:3306)/main",
    ),
    rule(
        "password in other languages", Trigger::Anchors("mot~de~passe palavra~passe contrase parola~d"),
        Find::anywhere(r#"(?i)\b(?:mot[ _-]de[ _-]passe|palavra[ _-]passe|contrase(?:ñ|n)a|parola d['’]ordine)["']?\s{0,2}[:=]\s{0,2}["']?([^\s"',;]{4,})"#, is_visible_secret),
        "échec, mot de passe : tr0ub4dor", "tr0ub4dor",
        "mot de passe : incorrect; Contraseña: obligatoria; palavra-passe: errada",
    ),
    rule(
        "session", Trigger::Anchors("session~id"),
        Find::anywhere(r#"(?i)session[ _-]?id["']?\s?(?:=|:|%3d)\s?["']?((?:[0-9a-f]{16,}|[a-z0-9+/_%.-]{24,})=*)"#, is_random),
        "no such session: session_id=9f8e7d6c5b4a39281706f5e4d3c2b1a0", "9f8e7d6c5b4a39281706f5e4d3c2b1a0",
        "session_id=42; session id: the-session-of-this-afternoon; session_id=checkout",
    ),
    rule(
        "signed address", Trigger::Anchors("amz~signature goog~signature"),
        Find::anywhere(r"(?i)x-(?:amz|goog)-signature(?:=|:\s?|%3d)([0-9a-z%+/_-]{16,}=*)", any),
        "GET /a?X-Amz-Signature=fe5f80f77d5fa3beca038a248ff027d0445342fe was denied", "fe5f80f77d5fa3beca038a248ff027d0445342fe",
        "X-Amz-Signature=missing&X-Amz-SignedHeaders=host;x-amz-content-sha256",
    ),
    rule(
        "social security number", Trigger::Anchors("^ssn$ social~security"),
        Find::anywhere(r"(?i)\b(?:ssn|social security(?: number| no\.?)?)\W{0,3}(?:is |was |of )?(\d{3}[- ]?\d{2}[- ]?\d{4})\b", any),
        "the SSN 078-05-1120 is on file", "078-05-1120",
        "ticket 078-05-1120; the ssn is missing",
    ),
    rule(
        "card number", Trigger::Digits,
        Find::Code(cards::find),
        "charged 4111 1111 1111 1111 twice", "4111 1111 1111 1111",
        "order 4111 1111 1111 1112, order 1234567890123456",
    ),
    rule(
        "bot token without a prefix", Trigger::LongRun,
        Find::word(r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}", is_random),
        concat!("MTIzNDU2Nzg5MDEyMzQ1", "Njc4.GabcDE.abcdefghijklm", "nopqrstuvwxyz0123"), concat!("GabcDE.abcdefghijklm", "nopqrstuvwxyz0123"),
        "My-very-long-module-name.module.another-very-long-module-name-here.tar.gz",
    ),
];
