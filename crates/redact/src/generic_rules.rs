//! Rules for secrets without a provider prefix: named values, authentication schemes, signed
//! tokens, key blocks, credentials in URLs and commands, card numbers.

use super::credentials::{
    any, has_key_body, is_basic_pair, is_bearer_token, is_random, is_unmasked, is_visible_secret,
};
use super::rules::{Example, Find, Pattern, Rule, Trigger};
use super::{base64_text, cards, commands, mentions, pairs, sql, urls};

/// The rule whose anchors are the stems of the sensitive names.
pub(super) const NAMED_VALUE: &str = "named value";

/// The rules, each with a sample that it removes and an innocent that it keeps.
pub(super) static GENERIC_RULES: [Rule; 21] = [
    Rule {
        name: NAMED_VALUE,
        trigger: Trigger::Anchors(pairs::STEMS),
        find: Find::Code(pairs::find),
        example: Example {
            sample: "login failed: password=hunter2, try again",
            secret: "hunter2",
            innocent: "next_page_token=abc123def456; keyboard: qwerty77; password must be 8 long",
        },
    },
    Rule {
        name: "value that a sentence names",
        trigger: Trigger::Mention,
        find: Find::Code(mentions::find),
        example: Example {
            sample: "we could not verify 482913 as your one-time code",
            secret: "482913",
            innocent: "API key not found for project my-project-42; the code 482913 is on the box",
        },
    },
    Rule {
        name: "bearer credential",
        trigger: Trigger::Anchors("^bearer"),
        find: Find::Pattern(
            Pattern::anywhere(
                r#"(?i)(?:\b|%[0-9a-f]{2}|\\[nrt])bearer(?:\s|%20|\+|:|=|\\*["'])+([a-z0-9._~+/-]{6,}=*)"#,
            ),
            is_bearer_token,
        ),
        example: Example {
            sample: "sent bearer mF_9.B5f-4.1JqM and got 401",
            secret: "mF_9.B5f-4.1JqM",
            innocent: "the bearer of this letter; Bearer authentication failed; bearer token expired",
        },
    },
    Rule {
        name: "basic credential",
        trigger: Trigger::Anchors("^basic"),
        find: Find::Pattern(
            Pattern::anywhere(
                r#"(?i)(?:\b|%[0-9a-f]{2}|\\[nrt])basic(?:\s|%20|\+|:|\\*["'])+([a-z0-9+/_-]{4,}=*)"#,
            ),
            is_basic_pair,
        ),
        example: Example {
            sample: "sent Basic dXNlcjpwYXNz to the proxy",
            secret: "dXNlcjpwYXNz",
            innocent: "basic authentication failed; Basic training; basic plan",
        },
    },
    Rule {
        name: "signed token",
        trigger: Trigger::Anchors("^eyJ"),
        find: Find::Pattern(
            Pattern::word(r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,3}"),
            any,
        ),
        example: Example {
            sample: concat!(
                "jwt eyJhbGciOiJI",
                "UzI1NiJ9.eyJzdWIiOiIx",
                "In0.c2lnbmF0dXJl expired"
            ),
            secret: concat!("eyJzdWIiOiIx", "In0.c2lnbmF0dXJl"),
            innocent: "cursor eyJpZCI6MTAwfQ of page eyJpZCI6MTAwfQ.json",
        },
    },
    Rule {
        name: "private key block",
        trigger: Trigger::Anchors("PRIVATE"),
        find: Find::Pattern(
            Pattern::anywhere(
                r"(?s)(-{4,5} ?BEGIN(?: |\+|%20)(?:[A-Z0-9]+(?: |\+|%20)){0,4}PRIVATE(?: |\+|%20)KEY.*?(?:-{4,5} ?END[A-Z0-9 +%]{0,60}-{4,5}|\z))",
            ),
            has_key_body,
        ),
        example: Example {
            sample: concat!(
                "-----BEGIN RSA PRIV",
                "ATE KEY-----\nMIIEow\nabc\n-----END RSA PRIV",
                "ATE KEY-----\n"
            ),
            secret: "MIIEow",
            innocent: "-----BEGIN PUBLIC KEY-----\nMIIBIj\n-----END PUBLIC KEY-----\nPRIVATE PROPERTY",
        },
    },
    Rule {
        name: "end of a private key block",
        trigger: Trigger::Anchors("PRIVATE"),
        find: Find::Pattern(
            Pattern::anywhere(
                r"((?:[A-Za-z0-9+/=]{16,}(?:\s|\\[nr])*)+)-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY",
            ),
            any,
        ),
        example: Example {
            sample: concat!(
                "...QhVhQhVhQhVhQhVhQhVh\nQhVhQhVhQhVhQhVhQh==\n-----END PRIV",
                "ATE KEY-----"
            ),
            secret: "QhVhQhVhQhVhQhVhQh==",
            innocent: "QhVhQhVhQhVhQhVhQhVh\n-----END CERTIFICATE----- PRIVATE",
        },
    },
    Rule {
        name: "user information of a URL",
        trigger: Trigger::Anchors(":// :\\/\\/ %3a%2f%2f %253a%252f%252f"),
        find: Find::Code(urls::find_user_information),
        example: Example {
            sample: "cannot reach postgres://app:s3cr3t@db.example.com:5432/main",
            secret: "s3cr3t",
            innocent: "cannot reach https://example.com:8443/@scope/name?mail=bob@example.com",
        },
    },
    Rule {
        name: "user of a command",
        trigger: Trigger::Anchors("curl wget"),
        find: Find::Code(urls::find_command_users),
        example: Example {
            sample: "curl -s -u bob:opensesame https://example.com",
            secret: "opensesame",
            innocent: "curl -s https://example.com -o a:b; docker run -p 80:80",
        },
    },
    Rule {
        name: "password of a command",
        trigger: Trigger::Anchors(commands::ANCHORS),
        find: Find::Code(commands::find),
        example: Example {
            sample: "mysqldump -h db -u root -popensesame main",
            secret: "opensesame",
            innocent: "mysql -h db -P 3306 -p --batch; mysql -u root -p main; docker run -p 80:80",
        },
    },
    Rule {
        name: "secret of a database statement",
        trigger: Trigger::Anchors(sql::ANCHORS),
        find: Find::Code(sql::find),
        example: Example {
            sample: "INSERT INTO users (name, password) VALUES ('bob','hunter2')",
            secret: "hunter2",
            innocent: "INSERT INTO users (name, city) VALUES ('bob', 'Bern'); select id from t where token_id = 'a1'; identified by its name; Key (parcel_ref)=(LX-2025-00081734) already exists in api_tokens",
        },
    },
    Rule {
        name: "secret in encoded JSON",
        trigger: Trigger::Anchors(base64_text::ANCHORS),
        find: Find::Code(base64_text::find),
        example: Example {
            sample: "state eyJwYXNzd29yZCI6Imh1bnRlcjIifQ== did not verify",
            secret: "eyJwYXNzd29yZCI6Imh1bnRlcjIifQ",
            innocent: "cursor eyJpZCI6MTAwLCJzb3J0IjoibmFtZSJ9 has expired",
        },
    },
    Rule {
        name: "registry credential",
        trigger: Trigger::Anchors("^auth$"),
        find: Find::Pattern(
            Pattern::anywhere(
                r#"(?:\b|%22)auth(?:\\*"|%22)\s*(?::|%3A)\s*(?:\\*"|%22)([A-Za-z0-9+/_-]{8,}=*)"#,
            ),
            is_basic_pair,
        ),
        example: Example {
            sample: r#"{"auths":{"x":{"auth":"dXNlcjpwYXNz"}}}"#,
            secret: "dXNlcjpwYXNz",
            innocent: r#"{"auth":"required","author":"dXNlcjpwYXNz"}"#,
        },
    },
    Rule {
        name: "session cookie",
        trigger: Trigger::Anchors("sessionid= connect.sid="),
        find: Find::Pattern(
            Pattern::anywhere(r#"\b(?:sessionid|connect\.sid)=([^\s;&"'\\,]{8,})"#),
            any,
        ),
        example: Example {
            sample: "sent sessionid=k3v9q0x1z8w7 and got 403",
            secret: "k3v9q0x1z8w7",
            innocent: "sessionid=5; sessionid is missing",
        },
    },
    Rule {
        name: "driver source name",
        trigger: Trigger::Anchors("tcp( tcp%28 unix( unix%28 @// @(description"),
        find: Find::Pattern(
            Pattern::anywhere(
                r"(?i)[\w.-]+(?:[:/]|%3a)([^\s@]+)(?:@|%40)(?:(?:tcp|unix)(?:\(|%28)|//|\(description)",
            ),
            is_unmasked,
        ),
        example: Example {
            sample: "open app:opensesame@tcp(db:3306)/main",
            secret: "opensesame",
            innocent: "open app@tcp(db:3306)/main",
        },
    },
    Rule {
        name: "password in other languages",
        trigger: Trigger::Anchors("mot~de~passe palavra~passe contrase parola~d"),
        find: Find::Pattern(
            Pattern::anywhere(
                r#"(?i)\b(?:mot[ _-]de[ _-]passe|palavra[ _-]passe|contrase(?:ñ|n)a|parola d['’]ordine)["']?\s{0,2}[:=]\s{0,2}["']?([^\s"',;]{4,})"#,
            ),
            is_visible_secret,
        ),
        example: Example {
            sample: "échec, mot de passe : tr0ub4dor",
            secret: "tr0ub4dor",
            innocent: "mot de passe : incorrect; Contraseña: obligatoria; palavra-passe: errada",
        },
    },
    Rule {
        name: "session",
        trigger: Trigger::Anchors("session~id"),
        find: Find::Pattern(
            Pattern::anywhere(
                r#"(?i)session[ _-]?id["']?\s?(?:=|:|%3d)\s?["']?((?:[0-9a-f]{16,}|[a-z0-9+/_%.-]{24,})=*)"#,
            ),
            is_random,
        ),
        example: Example {
            sample: "no such session: session_id=9f8e7d6c5b4a39281706f5e4d3c2b1a0",
            secret: "9f8e7d6c5b4a39281706f5e4d3c2b1a0",
            innocent: "session_id=42; session id: the-session-of-this-afternoon; session_id=checkout",
        },
    },
    Rule {
        name: "signed address",
        trigger: Trigger::Anchors("amz~signature goog~signature"),
        find: Find::Pattern(
            Pattern::anywhere(r"(?i)x-(?:amz|goog)-signature(?:=|:\s?|%3d)([0-9a-z%+/_-]{16,}=*)"),
            any,
        ),
        example: Example {
            sample: "GET /a?X-Amz-Signature=fe5f80f77d5fa3beca038a248ff027d0445342fe was denied",
            secret: "fe5f80f77d5fa3beca038a248ff027d0445342fe",
            innocent: "X-Amz-Signature=missing&X-Amz-SignedHeaders=host;x-amz-content-sha256",
        },
    },
    Rule {
        name: "social security number",
        trigger: Trigger::Anchors("^ssn$ social~security"),
        find: Find::Pattern(
            Pattern::anywhere(
                r"(?i)\b(?:ssn|social security(?: number| no\.?)?)\W{0,3}(?:is |was |of )?(\d{3}[- ]?\d{2}[- ]?\d{4})\b",
            ),
            any,
        ),
        example: Example {
            sample: "the SSN 078-05-1120 is on file",
            secret: "078-05-1120",
            innocent: "ticket 078-05-1120; the ssn is missing",
        },
    },
    Rule {
        name: "card number",
        trigger: Trigger::Digits,
        find: Find::Code(cards::find),
        example: Example {
            sample: "charged 4111 1111 1111 1111 twice",
            secret: "4111 1111 1111 1111",
            innocent: "order 4111 1111 1111 1112, order 1234567890123456",
        },
    },
    Rule {
        name: "bot token without a prefix",
        trigger: Trigger::LongRun,
        find: Find::Pattern(
            Pattern::word(r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
            is_random,
        ),
        example: Example {
            sample: concat!(
                "MTIzNDU2Nzg5MDEyMzQ1",
                "Njc4.GabcDE.abcdefghijklm",
                "nopqrstuvwxyz0123"
            ),
            secret: concat!("GabcDE.abcdefghijklm", "nopqrstuvwxyz0123"),
            innocent: "My-very-long-module-name.module.another-very-long-module-name-here.tar.gz",
        },
    },
];
