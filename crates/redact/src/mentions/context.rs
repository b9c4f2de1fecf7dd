//! Reads the words around a mention or a value: whether a mention is about something else than a
//! secret, and whether a neighbouring word claims a value.

use crate::lexicon::Mention;
use crate::names::{WordSet, listed};
use crate::sentences::{Word, is_in_address};
use crate::word_lists::INNOCENT_BEFORE_TOKEN;

/// Whether a mention is part of a longer name, or of a phrase about something else.
pub(super) fn is_unrelated(text: &str, mention: &Mention) -> bool {
    let word = &text[mention.start..mention.end];
    let (head, rest) = (&text[..mention.start], &text[mention.end..]);
    // Part of a longer name.
    let mut behind = rest.chars();
    let joins = behind.next().is_some_and(|it| "-_./\\({[$#:@".contains(it))
        && behind
            .next()
            .is_some_and(|it| it.is_alphanumeric() || "_:[(".contains(it));
    // The encoded part of a URL may be a sentence.
    let is_in_address = || !rest.starts_with('%') && is_in_address(head);
    if joins || head.ends_with(['_', '.', '$', '/', '#', '@', '<']) || is_in_address() {
        return true;
    }
    if listed!(AMBIGUOUS, &word.replace(' ', "-")) && !is_about_failure(text, mention) {
        return true;
    }
    let before = head.trim_end_matches(['-', ' ', '!']);
    let last = before
        .rsplit(|it: char| !it.is_alphanumeric())
        .next()
        .unwrap_or_default();
    let is_token = word.eq_ignore_ascii_case("token") || word.eq_ignore_ascii_case("key");
    const INNOCENT_BEFORE_CODE: &str = "err error status exit reason response return result country zip postal area dialing dial product promo discount coupon qr source byte \
        language currency tax bar state http diagnostic fault event message vendor sql oracle abort rc item article airport station hs";
    const INNOCENT_AFTER_CODE: &str = "postal postale promo promotionnel erreur produit article barre barres fiscale sconto di error de base source";
    let next = rest
        .trim_start()
        .split(|it: char| !it.is_alphanumeric())
        .next()
        .unwrap_or_default();
    let is_code = is_bare_code(word);
    let is_pair = rest.trim_start().starts_with(['=', ':']);
    // A short number is more often the code of an error than a code for a person.
    let is_short =
        last == "with" && next.len() <= 4 && next.bytes().all(|byte| byte.is_ascii_digit());
    if is_code
        && (is_pair
            || is_short
            || listed!(INNOCENT_BEFORE_CODE, last)
            || listed!(INNOCENT_AFTER_CODE, next))
    {
        return true;
    }
    const INNOCENT_BEFORE_KEY: &str = "primary foreign public sort partition cache object unique duplicate index idempotency row hash routing map dictionary json";
    const INNOCENT_BEHIND_KEY: &str = "pair pairs vault ring name names size type types usage rotation policy policies store length format";
    // These words turn the mention into the name of something else (`password policy`).
    const INNOCENT_BEHIND: &str = "policy policies hash hashes manager rule rules panel reader pad plugin encoder provider page table column";
    let is_key = word.to_ascii_lowercase().ends_with("key");
    is_key && listed!(INNOCENT_BEHIND_KEY, next)
        || rest.starts_with(' ') && listed!(INNOCENT_BEHIND, next)
        || is_token && (listed!(INNOCENT_BEFORE_TOKEN, last) || listed!(INNOCENT_BEFORE_KEY, last))
}

/// Whether the mention is quoted, as the name of a field is.
pub(super) fn is_quoted(text: &str, mention: &Mention) -> bool {
    let is_quote = |it: char| "\"'`[]".contains(it);
    text[..mention.start].ends_with(is_quote) && text[mention.end..].starts_with(is_quote)
}

/// Whether the text after a word shows that it is a mail id, a key id, or a host name in a log line
/// (followed by `program[process]:`).
pub(super) fn is_identified_by_next_word(behind: &str) -> bool {
    if behind.starts_with(" - gsmtp") || behind.starts_with(": public key") {
        return true;
    }
    let program = behind.strip_prefix(' ').unwrap_or_default();
    let program = program.split(' ').next().unwrap_or_default();
    let process = program.split_once('[').map(|(_, process)| process);
    process.is_some_and(|it| {
        let digits = it.trim_end_matches(':').trim_end_matches(']');
        it.ends_with("]:") && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether a value after this word belongs to the word and not to the secret.
pub(super) fn claims(word: &str) -> bool {
    static CLAIMANTS: WordSet = WordSet::new(
        "account address algorithm api app application at attempt attempts before bucket build by channel client cluster code \
        column comment commit container contact count customer database date device digest docs document domain email endpoint endpoints environment error etag event \
        expires fd file fingerprint for from function hash host http id in index instance invoice iso issue issuer job key-id keyid kid kids least length \
        limit line log login machine maximum md5 member message minimum matches mode model module most name namespace node number object offset on operation \
        order organization org owner page pair parameter path payment permission permissions pod policy port position principal privilege process profile pubkey no_pubkey p project queue realm record \
        ref region release repo repository request requestid resource revision role row rule run scope see sequence selector serial server service sha sha1 sha256 sha512 shard \
        since size span state status step subject subscription support table tenant than thread thumbprint ticket time to topic trace transaction \
        type until uri url user username uuid vault version volume within worker workspace zone \
        benutzer konto für von bei seit anfrage utilisateur pour depuis usuario usuário para cuenta utente per gebruiker voor användare för bruger \
        käyttäjä użytkownik dla uživatel pro felhasználó utilizator pentru kullanıcı için пользователь пользователя для запрос користувач \
        χρήστης χρήστη για pengguna untuk người",
    );
    let word = word.trim_matches(|it: char| !it.is_alphanumeric());
    let last = word.rsplit(['_', '-', '.']).next().unwrap_or(word);
    CLAIMANTS.contains(word)
        || word.contains("://")
        || word.starts_with("ssh-")
        || word.starts_with("ecdsa-")
        || listed!(
            "id uuid hash digest sha url uri name user host version etag trace span arn",
            last,
        )
        || word.ends_with("Id")
        || word.ends_with("ID")
}

/// Words that link a value to a mention after it: "hunter2 is not the password".
pub(super) static LINKS: WordSet = WordSet::new(
    "as is isn't isnt was wasn't are be being not no doesn't does did didn't match matches matched \
    als ist ist's kein keine nicht war comme est n'est pas como es no não é era come è non is niet was geen jako jest nie nie není neni není \
    som är inte er ikke on ei ole som δεν είναι ως nem mint nu este ca olarak değil как не является является неверный як не bukan sebagai \
    không phải là làm लिए नहीं है के रूप में ליסמה אינו אינה אינה היא כ ليس ليست هو هي",
);

pub(super) fn is_bare_code(word: &str) -> bool {
    listed!("code codes código codice kod", word)
}

pub(super) fn is_possessive(text: &str, word: &Word) -> bool {
    let value = &text[word.range.clone()];
    value.ends_with("'s") || value.ends_with("’s") || text[word.range.end..].starts_with("'s ")
}

/// Words with other meanings, which count as mentions only in a sentence about a failure.
const AMBIGUOUS: &str = "pin pin-code login sign-in bind reset codes keypad-entry access-code security-code code código codice kod tan otp key clave clé chave chiave ficha klucz sleutel nyckel \
    session cookie signature nonce authorization";

/// Whether the surrounding text is about an attempt that failed.
fn is_about_failure(text: &str, mention: &Mention) -> bool {
    static FAILURE: WordSet = WordSet::new(
        "wrong incorrect invalid expired entered enter verify verified verifying validate authenticate matches match mismatch mismatched rejected \
        denied accepted failed fails failure attempt attempts unauthorized refused revoked blocked belong typed submitted supplied presented unknown bad your used reused \
        falsch ungültig abgelaufen incorrecte invalide expirée incorrecto incorrecta inválido inválida caducado incorreto errado scaduto errato non niet ongeldig \
        usado utilizado utilizada expirou expiró expirado expirada caducó wygasł wygasła udløbet utløpt utgått scadut expiré expirat abgelaufen revocado ogiltig felaktig forkert ugyldig väärä virheellinen nieprawidłowy błędny neplatný nesprávný érvénytelen hibás invalid geçersiz hatalı yanlış",
    );
    const REACH: usize = 120;
    let start = text.floor_char_boundary(mention.start.saturating_sub(REACH));
    let end = text.ceil_char_boundary((mention.end + REACH).min(text.len()));
    text[start..end]
        .split(|it: char| !it.is_alphanumeric() && it != '\'')
        .any(|word| FAILURE.contains(word))
}
