//! Named values in prose, data, queries and markup that are removed, and sentences that stay.

use super::*;

fn check(text: &str, expected: &str) {
    let mut spans = Spans::default();
    find(text, &mut spans);
    let redacted = spans.cut(text);
    assert_eq!(redacted.as_deref().unwrap_or(text), expected, "{text}");
}

#[test]
fn only_the_value_of_a_pair_is_removed() {
    check("password=hunter2, retry", "password=[REDACTED], retry");
    check("password: hunter2", "password: [REDACTED]");
    check("the password is hunter2.", "the password is [REDACTED].");
    check(
        "--password hunter2 --verbose",
        "--password [REDACTED] --verbose",
    );
    check("X-Api-Key: abc\nHost: h", "X-Api-Key: [REDACTED]\nHost: h");
    check("api key: abc", "api key: [REDACTED]");
    check("Cookie: a=b; c=d rejected", "Cookie: [REDACTED] rejected");
    check(
        "Authorization: Bearer abc denied",
        "Authorization: Bearer [REDACTED] denied",
    );
    check(
        "Server=db;Password=x;y=1",
        "Server=db;Password=[REDACTED];y=1",
    );
    check("password=hun,ter;2&x", "password=[REDACTED]");
    check("(token=abc)", "(token=[REDACTED])");
    check("user[password]=x&b=1", "user[password]=[REDACTED]&b=1");
    check("{user=bob, password=x}", "{user=bob, password=[REDACTED]}");
    check("**Password:** hunter2", "**Password:** [REDACTED]");
}

#[test]
fn secrets_are_removed_from_json_in_prose_even_if_it_is_truncated() {
    check(
        r#"got {"password":"x","a":1}"#,
        r#"got {"password":"[REDACTED]","a":1}"#,
    );
    check(r#"got {"password":"hun"#, r#"got {"password":"[REDACTED]"#);
    check(
        r#"got {"password":"a\"b"}"#,
        r#"got {"password":"[REDACTED]"}"#,
    );
    check(
        r#"{\"password\":\"x\",\"a\":1}"#,
        r#"{\"password\":\"[REDACTED]\",\"a\":1}"#,
    );
    check(
        r#"{\"password\":\"x\\\"y\",\"a\":1}"#,
        r#"{\"password\":\"[REDACTED]\",\"a\":1}"#,
    );
    check(r#"got {"pin":1234}"#, r#"got {"pin":[REDACTED]}"#);
    check(
        r#"got {"secret":{"a":"}","b":1},"c":2}"#,
        r#"got {"secret":[REDACTED],"c":2}"#,
    );
    check("got {'token': 'x'}", "got {'token': '[REDACTED]'}");
    check(
        r#"{"name":"password","value":"x"#,
        r#"{"name":"password","value":"[REDACTED]"#,
    );
    check(
        r#"got {"password":null,"a":true}"#,
        r#"got {"password":null,"a":true}"#,
    );
}

#[test]
fn secrets_are_removed_from_encoded_pairs_and_queries() {
    check(
        "/p?access_token=abc&page=2#top",
        "/p?access_token=[REDACTED]&page=2#top",
    );
    check("/p?sig=abc%3D&se=2026", "/p?sig=[REDACTED]&se=2026");
    check("/cb?code=abc&state=1", "/cb?code=[REDACTED]&state=1");
    check("/p?code=US", "/p?code=US");
    check(
        "u=%2Fp%3Ftoken%3Dabc%26page%3D2",
        "u=%2Fp%3Ftoken%3D[REDACTED]%26page%3D2",
    );
    check(
        r"a\u0026token\u003dabc\u0026b",
        r"a\u0026token\u003d[REDACTED]\u0026b",
    );
    check(
        "%22password%22%3A%22x%22%7D",
        "%22password%22%3A%22[REDACTED]%22%7D",
    );
    check(
        "&quot;password&quot;:&quot;x&quot;",
        "&quot;password&quot;:&quot;[REDACTED]&quot;",
    );
    check(r"line\npassword=x", r"line\npassword=[REDACTED]");
}

#[test]
fn the_text_of_elements_is_removed() {
    check("<password>x</password>", "<password>[REDACTED]</password>");
    check(
        r#"<w:Password Type="t">x</w:Password>"#,
        r#"<w:Password Type="t">[REDACTED]</w:Password>"#,
    );
    check(
        r#"<input name="password" value="x">"#,
        r#"<input name="password" value="[REDACTED]">"#,
    );
    check(
        "<password>r&amp;d&lt;Lab&gt;1</password>",
        "<password>[REDACTED]</password>",
    );
    check(
        "<password><![CDATA[open it]]></password>",
        "<password><![CDATA[[REDACTED]]]></password>",
    );
    check(
        r#"<param name="password">Pal0-Fw-Alto</param>"#,
        r#"<param name="password">[REDACTED]</param>"#,
    );
    check("<password/>", "<password/>");
    check("%3Cpassword%3Ex%3C%2F", "%3Cpassword%3E[REDACTED]%3C%2F");
    check("&lt;password&gt;x&lt;/", "&lt;password&gt;[REDACTED]&lt;/");
}

#[test]
fn ordinary_sentences_survive() {
    let innocents = [
        "password must be 8 characters",
        "password is required",
        "Password: must not be empty",
        "token count: 512",
        "tokens: 5",
        "Unexpected token: }",
        "Unexpected token: { in JSON",
        "unexpected token 'function' in line 3",
        "next page token: abc123def456",
        "the secret is out",
        "secret santa: bob",
        "auth::token::Kind",
        "token://scheme",
        "password=true token=null",
        "the field \"token\": must be set",
        "keyboard=qwerty1 key=PROJ-123",
        "cookie policy: strict1 mode",
        "Your password is fine, and so is your card",
        "Rate exceeded for operation GetSecretValue: 10,000 per second",
        "Could not read private key: PEM_read_bio: no start line",
        "JwtBearer.JwtBearerHandler: IDX10501: Signature validation failed",
        "cat: /run/secrets/smtp_password: Permission denied",
        "Schema error at /properties/apiKey: 'writeOnly' must be boolean",
        "o.e.gateway.auth.TokenFilter             : anonymous request refused",
        "go to https://mail.example/?p=BadCredentials 5b1f17b1804b1-42e7a8d1e2fsm",
        "<a href=\"/help\">Help with passwords</a> · <a href=\"/keys\">Security keys</a>",
        "<tr><td>Secret</td><td>Kubernetes</td></tr>",
    ];
    for text in innocents {
        check(text, text);
    }
}

#[test]
fn passwords_are_found_in_german_dutch_and_portuguese() {
    check("Passwort: geheim123", "Passwort: [REDACTED]");
    check("Kennwort=geheim123, falsch", "Kennwort=[REDACTED], falsch");
    check("wachtwoord: w8woord!", "wachtwoord: [REDACTED]");
    check("senha: abre123", "senha: [REDACTED]");
    for innocent in [
        "Passwort: falsch",
        "Das Passwort ist abgelaufen",
        "wachtwoord is verplicht",
        "senha: incorreta",
        "desenha: quadro17",
    ] {
        check(innocent, innocent);
    }
}

#[test]
fn a_query_key_that_names_an_issue_survives() {
    check("/p?key=PROJ-123&sid=5", "/p?key=PROJ-123&sid=5");
    check("/p?key=Ab1Cd2Ef3Gh4Ij5Kl6", "/p?key=[REDACTED]");
}

#[test]
fn informal_spellings_of_a_password_are_found() {
    check(
        "login bob password hunter2",
        "login bob password [REDACTED]",
    );
    check(
        "API key provided: abcd1234.",
        "API key provided: [REDACTED].",
    );
    check("password -> hunter2", "password -> [REDACTED]");
    check("password='it''s' x", "password='[REDACTED]' x");
    check("password='' x", "password='' x");
    check("password sha256 hashing", "password sha256 hashing");
    check(
        "authorization: basic authentication failed",
        "authorization: basic authentication failed",
    );
    check(
        "Set-Cookie: a=b; Expires=Wed, 21 Oct 2026 07:28:00 GMT, c=d; Secure",
        "Set-Cookie: [REDACTED]",
    );
}
