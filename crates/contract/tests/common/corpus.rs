//! Secrets that must never survive redaction and innocents that must, for every test that plants
//! them somewhere. Secrets are written in parts so that no scanner takes this file for a leak.

#![allow(unreachable_pub, reason = "a module of several test crates")]

/// One secret as it appears in the wild.
pub struct Secret {
    /// What it is, for failure messages.
    pub name: &'static str,
    /// A text that holds the secret.
    pub text: &'static str,
    /// The part of the text that must be gone.
    pub hidden: &'static str,
}

macro_rules! secret {
    ($name:literal, [$($before:literal),*], [$($part:literal),+], [$($after:literal),*]) => {
        Secret {
            name: $name,
            text: concat!($($before,)* $($part,)+ $($after,)*),
            hidden: concat!($($part,)+),
        }
    };
}

/// The secrets: name, what stands before, the secret in parts, what stands after.
#[rustfmt::skip]
pub const SECRETS: &[Secret] = &[
    secret!("openai project key", [], ["sk-", "proj-", "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8"], []),
    secret!("openai key", [], ["sk-", "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9"], []),
    secret!("anthropic key", [], ["sk-", "ant-", "api03-", "Ab1Cd2Ef3Gh4Ij5Kl6"], []),
    secret!("stripe live key", [], ["sk_", "live_", "4eC39HqLyjWDarjtT1zdp7dc"], []),
    secret!("stripe test key", [], ["sk_", "test_", "4eC39HqLyjWDarjtT1zdp7dc"], []),
    secret!("stripe restricted key", [], ["rk_", "live_", "4eC39HqLyjWDarjtT1zdp7dc"], []),
    secret!("stripe webhook secret", [], ["whs", "ec_", "0123456789abcdefABCDEF0123"], []),
    secret!("aws access key id", [], ["AKIA", "IOSFODNN7", "EXAMPLE"], []),
    secret!("aws temporary key id", [], ["ASIA", "IOSFODNN7", "EXAMPLE"], []),
    secret!("aws secret assignment", ["aws_secret_access_key = "], ["wJalrXUtnFEMI", "K7MDENGbPxRfiCY", "EXAMPLEKEY"], []),
    secret!("github personal token", [], ["gh", "p_", "0123456789abcdefABCDEF0123456789abcd"], []),
    secret!("github oauth token", [], ["gh", "o_", "0123456789abcdefABCDEF0123456789abcd"], []),
    secret!("github app token", [], ["gh", "s_", "0123456789abcdefABCDEF0123456789abcd"], []),
    secret!("github fine-grained token", [], ["github", "_pat_", "11ABCDEFG0123456789_abcdefABCDEF"], []),
    secret!("gitlab token", [], ["gl", "pat-", "Ab1Cd2Ef3Gh4Ij5Kl6Mn"], []),
    secret!("slack bot token", [], ["xox", "b-", "123456789012-", "abcdefABCDEF"], []),
    secret!("slack app token", [], ["xap", "p-1-", "A0123456789-", "abcdefABCDEF"], []),
    secret!("slack webhook", ["https://hooks.slack.com/services/"], ["T0000/", "B0000/", "abcdEFGH1234"], []),
    secret!("discord webhook", ["https://discord.com/api/webhooks/123456789/"], ["abcdEFGH", "1234_-xyz"], []),
    secret!("google api key", [], ["AI", "zaSy", "A0123456789abcdefABCDEF012345678"], []),
    secret!("google access token", [], ["ya", "29.", "a0AfH6SMB0123456789"], []),
    secret!("sendgrid key", [], ["SG", ".", "0123456789abcdefABCDEF", ".0123456789abcdefABCDEF"], []),
    secret!("npm token", [], ["np", "m_", "0123456789abcdefABCDEF0123456789abcd"], []),
    secret!("pypi token", [], ["pyp", "i-", "AgEIcHlwaS5vcmc0123456789abcdefABCDEF"], []),
    secret!("digitalocean token", [], ["dop", "_v1_", "0123456789abcdef0123456789abcdef"], []),
    secret!("shopify token", [], ["shp", "at_", "0123456789abcdef0123456789abcdef"], []),
    secret!("square token", [], ["sq0", "atp-", "Ab1Cd2Ef3Gh4Ij5Kl6Mn7O"], []),
    secret!("hugging face token", [], ["h", "f_", "abcdefghijklmnopqrstuvwxyzABCDEFGH"], []),
    secret!("groq key", [], ["gs", "k_", "0123456789abcdefABCDEF012345"], []),
    secret!("xai key", [], ["xa", "i-", "0123456789abcdefABCDEF012345"], []),
    secret!("twilio key", [], ["S", "K", "0123456789abcdef", "0123456789abcdef"], []),
    secret!("mailgun key", [], ["key", "-", "0123456789abcdef", "0123456789abcdef"], []),
    secret!("azure account key", ["DefaultEndpointsProtocol=https;AccountName=a;AccountKey="], ["Ab1Cd2Ef3Gh4", "Ij5Kl6Mn7Op8=="], [";EndpointSuffix=core.windows.net"]),
    secret!("azure shared access key", ["Endpoint=sb://a/;SharedAccessKeyName=root;SharedAccessKey="], ["Ab1Cd2Ef3Gh4", "Ij5Kl6Mn7Op8="], []),
    secret!("azure signed url", ["https://a.blob.core.windows.net/c/b?sv=2022&sig="], ["Ab1Cd2Ef3", "Gh4Ij5%3D"], ["&se=2026-01-01"]),
    secret!("entra client secret", [], ["abc", "8Q~", "0123456789abcdefABCDEF0123456789ab"], []),
    secret!("discord bot token", [], ["MTIzNDU2Nzg5MDEyMzQ1", "Njc4.GabcDE.abcdefghijklm", "nopqrstuvwxyz0123"], []),
    secret!("telegram bot token", [], ["1234567890", ":AA", "0123456789abcdefABCDEF0123456789a"], []),
    secret!("databricks token", [], ["da", "pi", "0123456789abcdef", "0123456789abcdef"], []),
    secret!("postman key", [], ["PM", "AK-", "0123456789abcdef01234567-0123456789abcdef"], []),
    secret!("linear key", [], ["lin", "_api_", "0123456789abcdefABCDEF0123456789"], []),
    secret!("notion token", [], ["nt", "n_", "0123456789abcdefABCDEF0123456789"], []),
    secret!("vault token", [], ["hv", "s.", "CAESI0123456789abcdefABCDEF"], []),
    secret!("age key", [], ["AGE-SEC", "RET-KEY-1", "QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ"], []),
    secret!("atlassian token", [], ["ATA", "TT3x", "FfGF00123456789abcdefABCDEF01"], []),
    secret!("grafana token", [], ["gl", "sa_", "0123456789abcdefABCDEF0123456789_01234567"], []),
    secret!("jwt", [], ["eyJhbGciOiJI", "UzI1NiJ9.eyJzdWIiOiIx", "In0.c2lnbmF0dXJlc2lnbmF0dXJl"], []),
    secret!("private key block", ["-----BEGIN RSA PRIV", "ATE KEY-----\n"], ["MIIEowIBAAKC", "AQEAsecretbody"], ["\n-----END RSA PRIV", "ATE KEY-----"]),
    secret!("unterminated private key block", ["-----BEGIN PRIV", "ATE KEY-----\n"], ["MIIEowIBAAKC", "AQEAsecretbody"], []),
    secret!("bearer header", ["Authorization: Bearer "], ["opensesame"], []),
    secret!("bearer words", ["sent bearer "], ["mF_9.B5f-4.1JqM"], []),
    secret!("basic header", ["Authorization: Basic "], ["dXNlcjpwYXNz"], []),
    secret!("basic words", ["sent Basic "], ["dXNlcjpodW50ZXIy"], []),
    secret!("digest header", ["Authorization: Digest username=\"bob\", response=\""], ["6629fae49393a053"], ["\""]),
    secret!("postgres url", ["postgres://app:"], ["s3cr3tpw"], ["@db.example.com:5432/main"]),
    secret!("mongodb url", ["mongodb+srv://app:"], ["s3cr3tpw"], ["@cluster0.example.net/main"]),
    secret!("redis url", ["redis://:"], ["s3cr3tpw"], ["@cache.example.com:6379/0"]),
    secret!("amqp url", ["amqp://guest:"], ["s3cr3tpw"], ["@queue.example.com"]),
    secret!("web url with user information", ["https://bob:"], ["s3cr3tpw"], ["@example.com/path"]),
    secret!("encoded url with user information", ["https%3A%2F%2Fbob%3A"], ["s3cr3tpw"], ["%40example.com%2Fpath"]),
    secret!("database connection string", ["Server=db;Database=main;User Id=sa;Password="], ["s3cr3tpw"], [";Encrypt=true"]),
    secret!("driver source name", ["app:"], ["s3cr3tpw"], ["@tcp(db:3306)/main"]),
    secret!("access token parameter", ["https://example.com/p?page=2&access_token="], ["opensesame"], ["&limit=5"]),
    secret!("token fragment", ["https://example.com/cb#id_token="], ["opensesame"], []),
    secret!("aws signed url", ["https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature="], ["0123456789abcdef"], []),
    secret!("authorization code", ["https://example.com/cb?code="], ["SplxlOBeZQQYbYS6WxSbIA"], ["&state=xyz"]),
    secret!("google key parameter", ["https://maps.example.com/api?key="], ["Ab1Cd2Ef3Gh4Ij5Kl6"], ["&q=1"]),
    secret!("card number", [], ["4111111111", "111111"], []),
    secret!("grouped card number", [], ["5500 0055 ", "5555 5559"], []),
    secret!("password pair", ["password="], ["hunter2"], []),
    secret!("password line", ["password: "], ["hunter2"], []),
    secret!("password sentence", ["password is "], ["hunter2"], []),
    secret!("password member", ["{\"password\":\""], ["hunter2"], ["\"}"]),
    secret!("escaped password member", ["{\\\"password\\\":\\\""], ["hunter2"], ["\\\"}"]),
    secret!("cut password member", ["{\"user\":\"bob\",\"password\":\""], ["hunter2"], []),
    secret!("password flag", ["--password "], ["hunter2"], []),
    secret!("api key header", ["X-Api-Key: "], ["opensesame"], []),
    secret!("cookie header", ["Cookie: theme=dark; sid="], ["opensesame"], ["; lang=en"]),
    secret!("password element", ["<password>"], ["hunter2"], ["</password>"]),
    secret!("environment assignment", ["PGPASSWORD="], ["hunter2"], [" psql -h db"]),
    secret!("command user", ["curl -u bob:"], ["hunter2"], [" https://example.com"]),
    secret!("social security number", ["ssn: "], ["078-05-1120"], []),
];

/// Texts that look like secrets and are none.
pub const INNOCENTS: &[&str] = &[
    "order 1234567890123456 shipped",
    "order 4111 1111 1111 1112",
    "invoice 2026-000451",
    "next_page_token=CAUQAA12345",
    "page_token: abc123def456",
    "continuation_token=eyJpZCI6MTAwfQ",
    "sync_token=abc123def456",
    "max_tokens=4096",
    "tokens: 5",
    "token count: 512",
    "token_type=bearer",
    "input_tokens=1200 output_tokens=340",
    "keyboard: qwerty",
    "issue key PROJ-123",
    "key: PROJ-123",
    "public_key=MFkwEwYHKoZIzj0C",
    "idempotency_key=0b1f7c2e",
    "primary_key: id",
    "550e8400-e29b-41d4-a716-446655440000",
    "9fceb02d0ae598e95dc970b74767f19372d61af8",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "2026-11-15T08:48:30.123456Z",
    "1731660510123",
    "ETag: \"33a64df551425fcc55e4d42a148795d9f25f89d4\"",
    "W/\"0815\"",
    "+1 (415) 555-2671",
    "+44 20 7946 0958",
    "bob@example.com",
    "mailto:bob@example.com",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "https://example.com/search?q=rust+errors&page=2&sort=desc",
    "https://example.com:8443/@scope/name?mail=bob@example.com",
    "http://localhost:3000/users/42#profile",
    "ssh://git@github.com/org/repo.git",
    "git@github.com:org/repo.git",
    "s3://bucket/path/to/key",
    "basic authentication failed",
    "Basic auth is not supported",
    "the bearer of this letter",
    "Bearer token expired",
    "WWW-Authenticate: Bearer realm=\"example\", error=\"invalid_token\"",
    "password must be 8 characters",
    "password is required",
    "Password: must not be empty",
    "invalid password policy",
    "secret santa",
    "the secret is out",
    "secretary: Alice Smith",
    "author: Jane Doe",
    "authority=example.com",
    "Unexpected token < in JSON at position 0",
    "Unexpected token: }",
    "cookie policy: strict",
    "cookies_enabled=true",
    "pinned=3 shipping=free",
    "pass: 12, fail: 0",
    "passed 12 of 14 checks",
    "the passenger list has 120 entries",
    "task-1234-abcdef-ghijkl-mnopqr",
    "risk-free-trial-period-extension",
    "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkq\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZI\n-----END PUBLIC KEY-----",
    "10.0.0.1:8080 refused the connection",
    "[::1]:443 timed out after 30s",
    "0.4111111111111111",
    "3.141592653589793",
    "v1.2.3-beta.4+build.567",
    "application/json; charset=utf-8",
    "rate limit: 60 per minute, retry after 12 s",
    "error code 401: unauthorized",
    "status_code=503 code=E1234",
    "/api/v1/users/12345/orders?limit=10&offset=20",
    "{\"next_page_token\":\"abc123def456\",\"key\":\"PROJ-123\",\"tokens\":5}",
    "{ \"keyboard\" : \"qwerty\" , \"password_policy\" : \"strict\" }",
    "{\"password\":null,\"token\":false}",
    "C:\\Users\\bob\\new\\token_list.txt",
    "std::token::parse failed",
    "SELECT primary_key FROM keys WHERE id = 7",
    "sk-SK locale, en-US locale",
    "pk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "docker run -u 1000:1000 -p 8080:80 image",
    "alpine:3.19@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "The answer is 42.",
    "naïve café – 日本語テキスト",
];

#[test]
fn the_corpora_are_large_and_free_of_doubles() {
    assert!(SECRETS.len() >= 50 && INNOCENTS.len() >= 50);
    for (index, secret) in SECRETS.iter().enumerate() {
        assert!(secret.text.contains(secret.hidden));
        assert!(
            SECRETS[..index]
                .iter()
                .all(|other| other.name != secret.name)
        );
    }
    for (index, innocent) in INNOCENTS.iter().enumerate() {
        assert!(!INNOCENTS[..index].contains(innocent), "{innocent}");
    }
}
