//! The word tables of the name rule: names of secrets, and the words around them that make a name
//! innocent. `names` splits and matches names.

/// How certain a name is in prose, where it is not a member of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strength {
    /// Any value after the name is a secret.
    Firm,
    /// The word has everyday meanings: the value must also look like a secret.
    Loose,
}

/// Where the word must be in a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// A whole word, anywhere in the name, also in the plural.
    Word,
    /// A whole word in the singular: the plural means something else.
    Singular,
    /// Also inside a longer word.
    Inside,
    /// The whole name.
    Alone,
}

use Position::{Alone, Inside, Singular, Word};
use Strength::{Firm, Loose};

/// Words that make a name sensitive on their own.
pub(super) const SINGLE: &[(&str, Position, Strength)] = &[
    ("password", Inside, Firm),
    ("passwd", Inside, Firm),
    ("passphrase", Inside, Firm),
    ("passcode", Inside, Firm),
    ("pwd", Inside, Firm),
    // German, Dutch, Portuguese. English sentence words do not apply, so the value must look like a
    // secret.
    ("passwort", Inside, Loose),
    ("kennwort", Inside, Loose),
    ("wachtwoord", Inside, Loose),
    ("senha", Word, Loose),
    ("pass", Alone, Loose),
    ("pw", Word, Firm),
    ("seed", Alone, Loose),
    ("secret", Word, Firm),
    ("authorization", Word, Firm),
    ("authorisation", Word, Firm),
    ("bearer", Word, Loose),
    ("credential", Word, Loose),
    ("cred", Word, Loose),
    ("cookie", Word, Loose),
    ("sessid", Inside, Firm),
    ("jsessionid", Word, Firm),
    ("token", Singular, Loose),
    ("psk", Word, Firm),
    ("dsn", Word, Firm),
    ("ssn", Word, Firm),
    ("cvv", Word, Firm),
    ("cvc", Word, Firm),
    ("pin", Alone, Loose),
    ("otp", Word, Loose),
    ("totp", Word, Loose),
];

/// Words that are sensitive after one of the listed words, separate (`api_key`) or joined
/// (`apikey`). A `+` joins two words that must both precede.
pub(super) const QUALIFIED: &[(&str, &str)] = &[
    (
        "key",
        "access account admin api app application auth authentication authorization client \
         consumer decryption deploy encryption install priv functions hmac license master private preshared recovery root \
         secret server service+role session shared shared+access signing ssh ssl subscription \
         symmetric tls unlock webhook wifi wpa wep network device storage",
    ),
    (
        "token",
        "access api auth bearer bot csrf device id oauth refresh reset secret security service \
         session sas signing unlock user webhook xsrf upload download invite magic link login registration enrollment deploy ci",
    ),
    ("secret", "api app client consumer jwt shared webhook"),
    (
        "pass",
        "admin api app auth become bind client cluster connection database db dev encryption ftp imap key keystore ldap login mail mongo mqtt mysql \
         pg postgres prod proxy rabbitmq redis registry root server service sftp site smb smtp sql ssh ssl store sudo test truststore user vault web webdav wifi zip",
    ),
    (
        "code",
        "access auth authorization backup device mfa one+time otp pin recovery security verification",
    ),
    ("number", "card cc pin social+security"),
    ("num", "card cc"),
    ("no", "card cc"),
    ("card", "credit debit"),
    ("pin", "card user"),
    ("auth", "basic http"),
    ("header", "auth authorization"),
    ("string", "conn connection"),
    ("phrase", "mnemonic recovery seed"),
    ("security", "social"),
    ("signature", "shared+access"),
    ("verifier", "code"),
    ("id", "secret access+key"),
];

/// A `token` after one of these words is a cursor, a unit of text or a protocol handle.
pub(super) const INNOCENT_BEFORE_TOKEN: &str = "\
    batch bos cancel cancellation change checkpoint cls concurrency consistency \
    continuation continue cost cursor delta design each end eos expected fencing first \
    idempotency input iterator last list mask next output pad page pagination paging per \
    position previous progress resume scroll sep skip snapshot special start stop sync \
    unexpected unk unknown watermark";

/// A name that ends with one of these words describes the secret and does not contain it.
pub(super) const INNOCENT_LAST: &str = "\
    age alg algorithm arn at attempt attempts attributes audience authentication banner brand budget change changed class \
    column consent cost costs count country counts created date days decimals description digits dir disabled \
    domain duration email enabled encoding endpoint endpoints engine env error errors exists \
    expected expiration expire expired expires expiry field fields file filename \
    fingerprint form format free header help hint host href id ids in index invalid issuer kind label last \
    left length less lifetime limit limits link links lng location manager max message method methods min missing \
    mode ms name names network offset on option options owner page param parameter path \
    placeholder policies policy port position prefix present price property provider \
    protected rate realm reason reasons ref reference region remaining required reset requirement requirements \
    retries rotated rotation rule rules santa schema scheme scope scopes score seconds servers \
    set settings sharing size source state status stdin store strength supported symbol time timestamp title ttl type \
    types updated uri url usage used user username valid var variable version window";

/// Query parameters that contain a secret, although the same name elsewhere does not.
pub(super) const QUERY_ONLY: &[(&str, Strength)] = &[
    ("sig", Firm),
    ("signature", Firm),
    ("x-amz-signature", Firm),
    ("x-goog-signature", Firm),
    ("hmac", Firm),
    ("assertion", Firm),
    ("client_assertion", Firm),
    ("samlresponse", Firm),
    ("samlrequest", Firm),
    ("auth", Loose),
    ("appid", Loose),
    ("key", Loose),
    ("sid", Loose),
    ("ticket", Loose),
];

/// Words that follow a sensitive name in an ordinary sentence ("password is required").
pub(super) const SENTENCE_WORDS: &str = "\
    a about absent accepted all allowed already also always an and any are as at auth \
    authentication authorization bad basic be bearer because being blank blocked but by can cannot \
    case-sensitive change changed check compromised contact correct could defined denied \
    deprecated did different digest disabled do does either empty enabled encrypted error \
    exceeded expected expired expires failed failure field for forbidden found from \
    generated has hashed header hidden if ignored in inactive incorrect insufficient \
    invalid is issued it known last leaked length locked longer malformed managed mandatory \
    may mismatch missing must needed needs never no none not null of ok okay on only \
    optional or out outdated parameter pending please present provided read rejected \
    required requires reset revoked safe same scheme see sent set shorter should still \
    stored supplied that the this to token too unable unauthorized unavailable undefined \
    unknown unset unsupported used user valid validated validation value verified was \
    weak when where which will with without wrong you your";

/// Further words of remarks about a secret ("is too short, minimum 8 characters").
pub(super) const REMARK_WORDS: &str = "\
    after again ago alphanumeric been before can't case characters common contain contains created creation days doesn't entirely exactly given guess have hours \
    least letter letters long lower match matching max maximum min minimum minutes more most new number numbers numeric \
    one password permitted previously recently rotated scope secret short shown similar \
    single-use special string symbol symbols taken than there too twice unbound unchanged upper use uses variable weeks while";

/// Values that are never secret.
pub(super) const EMPTY_VALUES: &str = "\
    false nil no none null true undefined yes";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_lower_case_without_duplicates() {
        let single: Vec<&str> = SINGLE.iter().map(|row| row.0).collect();
        let query: Vec<&str> = QUERY_ONLY.iter().map(|row| row.0).collect();
        let lists = [
            INNOCENT_BEFORE_TOKEN,
            INNOCENT_LAST,
            SENTENCE_WORDS,
            REMARK_WORDS,
            EMPTY_VALUES,
        ];
        let qualifiers = QUALIFIED.iter().map(|row| row.1);
        let tables = lists
            .into_iter()
            .chain(qualifiers)
            .map(|list| list.split_ascii_whitespace().collect())
            .chain([single, query]);
        for table in tables {
            for (index, word) in table.iter().enumerate() {
                assert_eq!(*word, word.to_ascii_lowercase());
                assert!(!table[..index].contains(word), "duplicate word {word}");
            }
        }
    }
}
