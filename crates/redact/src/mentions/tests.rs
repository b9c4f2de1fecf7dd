//! Sentences whose secrets are removed, and sentences about secrets that stay.

use super::*;

fn redacted(text: &str) -> String {
    let mut spans = Spans::default();
    find(text, &mut spans);
    spans.cut(text).unwrap_or_else(|| text.to_owned())
}

#[test]
fn a_value_that_a_sentence_mentions_is_removed() {
    for (text, secret) in [
        (
            "Login with password hunter2 failed for user bob42",
            "hunter2",
        ),
        ("we could not verify 482913 as your one-time code", "482913"),
        ("tried 'swordfish' as the passphrase", "swordfish"),
        ("k3v9q0x1z8w7p2m4 is not a valid token", "k3v9q0x1z8w7p2m4"),
        ("Das Passwort „Sommer2024!“ ist falsch", "Sommer2024!"),
        ("Le mot de passe « azerty99 » est incorrect", "azerty99"),
        (
            "Неверный пароль qwerty123 для пользователя ivan",
            "qwerty123",
        ),
        ("密码“abc12345”不正确", "abc12345"),
        ("パスワードhunter2が間違っています", "hunter2"),
        ("Wrong PIN 4821", "4821"),
        ("the secret 'bff-2024' was refused", "bff-2024"),
        (
            "unused recovery codes: K4QN-7XWD, R2MV-9BTL and H8PC-3ZFG.",
            "H8PC-3ZFG",
        ),
        (
            "the password was reset to Qketu-957 by helpdesk",
            "Qketu-957",
        ),
    ] {
        let redacted = redacted(text);
        assert!(!redacted.contains(secret), "{redacted}");
    }
}

#[test]
fn sentences_about_secrets_stay() {
    for text in [
        "Password must contain at least 8 characters, one digit and one of !@#$%",
        "token expired at 2026-01-05T10:00:00Z",
        "API key not found for project my-project-42",
        "Invalid API key (request 9f8e7d6c5b4a39281706f5e4d3c2b1a0)",
        "field 'password' is required",
        "wrong password for bob42, 3 attempts left",
        "das Passwort ist abgelaufen, bitte 12 Zeichen",
        "Idempotency-Key 5c7d2f10-8e3b-4a96-bf01-d92c6e48a7b5 was already used",
        "npm ERR! code E401: your authentication token is invalid",
        "the API token lacks permission #zone:edit",
        "the token is for key pair 'kp-0f71d2c5a8e93b64d'",
        "the secret 'bff-2024' ends in 3 days",
        "gpg: key 3AA5C34371567BD2: public key \"Nightly\" not changed; bad signature",
        "##[error]Input required and not supplied: azure-credentials",
        "API_TOKEN: <set to the key 'password' in secret 'ledger-db'>",
        "ELSTER-Fehler 610301202: die eingegebene PIN ist falsch",
        "資料表「會員」缺少欄位「密碼雜湊」,請先執行遷移 0042_add_hash。",
        "密码错误次数过多，账户 user2031 已锁定",
        "Le mot de passe du compte svc-paie2 a expiré",
        "Hasło wygasło 30 dni temu dla konta jnowak2",
        "Código de verificación incorrecto. Referencia: VRF2024-8812",
        "Password policy \"Strict2024\" requires 14 characters",
        "Door code panel offline at site 4412",
        "live cards are refused with code 4012",
        "the secret \"payments/stripe2\" was read by a role",
    ] {
        assert_eq!(redacted(text), text);
    }
}
