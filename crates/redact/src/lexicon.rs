//! Words for secrets in many languages: for passwords, for short codes and for tokens. `mentions`
//! judges the values near such a word.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// The kind of secret that a word refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretKind {
    /// A password: anything a person can choose.
    Password,
    /// A secret of no particular kind; the word also has other meanings.
    Generic,
    /// A code of a few digits or letters, for one use.
    Code,
    /// An opaque token.
    Token,
}

use SecretKind::{Code, Generic, Password, Token};

/// Words by kind, separated by commas. A term of several words has blanks between them, and a star
/// stands for the endings of a stem. English plurals are left out: they refer to secrets in general
/// and show none.
const WORDS: &[(SecretKind, &str)] = &[
    (
        Password,
        "passwort*, kennwort*, wachtwoord*, lösenord*, passord*, kodeord*, adgangskod*, salasan*, lykilorð*, contraseñ*, contrasenya*, contrasinal*, \
        pasahitz*, hasł*, hesl*, jelsz*, lozink*, zapork*, slaptažod*, parol*, şifre*, şifrə*, fjalëkalim*, cyfrinair*, парол*, лозинк*, нууц үг*, \
        құпиясөз*, κωδικός πρόσβασης, κωδικού πρόσβασης, συνθηματικ*, პაროლ*, գաղտնաբառ*, סיסמ*, הסיסמ*, कूटशब्द*, पासवर्ड*, পাসওয়ার্ড*, পাসওয়ার্ড*, \
        கடவுச்சொல்*, పాస్‌వర్డ్*, పాస్వర్డ్*, ಪಾಸ್‌ವರ್ಡ್*, പാസ്‌വേഡ്*, પાસવર્ડ*, ਪਾਸਵਰਡ*, پاس ورڈ*, پاسورڈ*, رمز عبور*, گذرواژه*, စကားဝှက်*, ពាក្យសម្ងាត់*, ລະຫັດຜ່ານ*, \
        salalaus*, prieigos slaptažod*, geslo, gesla, geslom, මුරපද*, kata sandi*, kata laluan*, nenosiri*, 登录密码, 登入密碼, 暗号, 비번",
    ),
    (
        Code,
        "kod weryfikacyjny, kodu weryfikacyjnego, kod sms, kodu sms, kódu pin, ověřovací kód*, jednorázový kód*, ellenőrző kód*, megerősítő kód*, doğrulama kod*, onay kod*, \
        код подтверждения, кода подтверждения, одноразовый код*, одноразового кода, проверочный код*, код підтвердження, пін-код*, verifikační kód*, verifikacijski kod*, \
        pin-kod*, pin-kood*, pin2-kood*, pinkod*, pinkood*, резервний код*, резервный код*, patvirtinimo kod*, apstiprinājuma kod*, kinnituskood*, vahvistuskood*, staðfestingarkóð*, κωδικός επαλήθευσης, κωδικού επαλήθευσης, დადასტურების კოდ*, קוד אימות, \
        kode verifikasi, kode otp, verifieringskod*, engångskod*, engangskod*, bekræftelseskod*, bekreftelseskod*, verificatiecode*, bestätigungscode*, sicherheitscode*, einmalcode*",
    ),
    (
        Token,
        "zugriffstoken*, zugriffsschlüssel*, api-schlüssel*, toegangstoken*, toegangssleutel*, åtkomsttoken*, adgangstoken*, tilgangstoken*, käyttöoikeustunn*, \
        klucz api, klucza api, token dostępu, tokenu dostępu, klíč api, přístupový token*, hozzáférési token*, api-kulcs*, cheia api, cheie api, erişim belirtec*, api anahtar*, \
        ключ api, ключа api, api-ключ*, токен*, ключ доступа, κλειδί api, διακριτικ*, توکن*, رمز الوصول*, کلید api, אסימון*, api कुंजी*, एक्सेस टोकन*, token akses, prieigos rakt*",
    ),
    (
        Password,
        "password, passwd, passphrase, passcode, pass phrase, pwd, pswd, temp pass, login pass, magic word, secret word, secret words, secret phrase, \
        pre-shared key, preshared key, wireless key, wifi key, seed phrase, recovery phrase, mnemonic, recovery password, app password, security answer, security word, community string, wi-fi key",
    ),
    (
        Generic,
        "secret, credential, credentials, security question, override key, backup key, encryption key, login, sign-in, bind, authentication, authenticate",
    ),
    (
        Password,
        "passwort, kennwort, passphrase, zugangswort, parole, losung, \
        mot de passe, phrase de passe, phrase secrète, mdp, \
        contraseña, contrasena, frase de paso, senha, palavra-passe, palavra passe, contrasenya, pasahitz, \
        parola d'ordine, parola d’ordine, parola chiave, parolă, parola, şifre, sifre, şifreniz, şifreyi, şifresi, \
        wachtwoord, lösenord, losenord, adgangskode, kodeord, passord, salasana, lykilorð, \
        hasło, hasła, hasłem, haslo, heslo, hesla, heslem, jelszó, jelszava, jelszavát, lozinka, lozinku, geslo, zaporka, slaptažodis, parole, parool, \
        пароль, пароля, паролем, паролю, парола, паролата, лозинка, \
        κωδικός πρόσβασης, κωδικό πρόσβασης, κωδικός, κωδικό, συνθηματικό, \
        パスワード, 合言葉, パスフレーズ, 密码, 密碼, 口令, 비밀번호, 암호, 패스워드, \
        كلمة المرور, كلمة السر, كلمة مرور, سيسما, סיסמה, סיסמא, הסיסמה, رمز عبور, گذرواژه, \
        पासवर्ड, কূটশব্দ, পাসওয়ার্ড, கடவுச்சொல், รหัสผ่าน, mật khẩu, mat khau, kata sandi, kata laluan, nenosiri",
    ),
    (
        Code,
        "pin, pin code, otp, totp, one-time code, one time code, one-time password, one time password, verification code, \
        security code, access code, confirmation code, login code, sign-in code, 2fa code, mfa code, sms code, auth code, \
        authentication code, authenticator code, recovery code, backup code, activation code, reset code, unlock code, \
        invite code, passcode, cvv, cvc, door code, gate code, alarm code, pairing code, device code, user code, code, codes, scratch codes, recovery codes, backup codes, moderator code, entry code, host key, keypad entry, number shown, puk, passkey, digicode, \
        einmalcode, einmalkennwort, einmalpasswort, bestätigungscode, sicherheitscode, zugangscode, verifizierungscode, geheimzahl, tan, \
        code de vérification, code de sécurité, code secret, code à usage unique, code de confirmation, code d'accès, code pin, \
        código de verificación, código de seguridad, código de acceso, código de un solo uso, código de confirmación, código de recuperación, código de uso único, código de verificação, \
        código de segurança, código de acesso, código, codice di verifica, codice di sicurezza, codice di accesso, codice monouso, codice pin, codice, \
        verificatiecode, beveiligingscode, toegangscode, pincode, eenmalige code, engångskod, verifieringskod, pinkod, engangskode, \
        bekræftelseskode, sikkerhedskode, bekreftelseskode, kertakäyttökoodi, vahvistuskoodi, tunnusluku, kod weryfikacyjny, kod jednorazowy, \
        kod pin, kod, ověřovací kód, jednorázový kód, bezpečnostní kód, megerősítő kód, ellenőrző kód, egyszer használatos kód, cod de verificare, codul de unică folosință, cod unic, \
        codul de verificare, doğrulama kodu, onay kodu, güvenlik kodu, tek kullanımlık, \
        код подтверждения, одноразовый код, проверочный код, код доступа, код безопасности, пин-код, ПИН-код, ПИН, код підтвердження, одноразовий код, \
        код за потвърждение, κωδικός επαλήθευσης, κωδικό επαλήθευσης, κωδικός μιας χρήσης, \
        認証コード, 確認コード, 暗証番号, ワンタイムパスワード, セキュリティコード, 验证码, 驗證碼, 校验码, 动态码, 一次性密码, 安全码, 授权码, ワンタイムコード, \
        인증번호, 인증 번호, 인증코드, 인증 코드, 보안 코드, 일회용, 확인 코드, \
        رمز التحقق, رمز التأكيد, الرقم السري, رمز الأمان, קוד אימות, קוד האימות, קוד חד פעמי, הקוד החד-פעמי, קוד חד-פעמי, קוד, सत्यापन कोड, ओटीपी, ওটিপি, رمز یکبار مصرف, पिन, mã xác minh, \
        mã xác nhận, mã xác thực, mã otp, mã pin, kode verifikasi, kode otp, kode keamanan, kod pengesahan, รหัสยืนยัน, รหัส otp, รหัส",
    ),
    (
        Token,
        "token, api key, apikey, api-key, api_key, access key, secret key, private key, private half, signing key, shared key, account key, \
        license key, master key, session key, client secret, app secret, app key, service key, subscription key, \
        server key, setup key, recovery key, deploy key, webhook secret, signing secret, session id, session, cookie, bearer, jwt, signature, \
        access token, refresh token, auth token, session token, personal access token, reset link, reset, \
        authorization, authorization code, nonce, connection string, dsn, sas, key, \
        schlüssel, zugriffsschlüssel, api-schlüssel, geheimnis, zugangstoken, sitzung, sitzungstoken, anmeldedaten, clé api, clé d'api, \
        clé d’api, clé secrète, clé d'accès, clé, jeton, jeton d'accès, clave api, clave de api, clave secreta, clave de acceso, clave, \
        ficha, secreto, chave de api, chave secreta, chave, segredo, chiave api, chiave segreta, chiave, gettone, segreto, \
        sleutel, api-sleutel, toegangssleutel, nyckel, api-nyckel, nøgle, nøkkel, api-nøgle, avain, api-avain, tunniste, klucz, klucz api, \
        klíč, klíč api, kulcs, api kulcs, api-kulcs, cheie, cheia, jeton de acces, anahtar, anahtarı, belirteç, ključ, \
        ключ, ключа, ключ api, api-ключ, токен, токена, секрет, сеанс, сессия, κλειδί, διακριτικό, μυστικό, \
        キー, apiキー, トークン, シークレット, 秘密鍵, アクセストークン, セッション, 密钥, 密鑰, 金鑰, 令牌, 权杖, 權杖, 秘钥, 凭证, 憑證, 访问令牌, 存取權杖, \
        키, api 키, 토큰, 액세스 토큰, 비밀 키, 인증 토큰, 세션, \
        مفتاح, المفتاح, رمز الوصول, رمز, الرمز, מפתח, אסימון, טוקן, कुंजी, टोकन, khóa api, khóa, mã thông báo, mã truy cập, token truy cập, \
        kunci api, kunci, kunci rahasia, คีย์, โทเค็น, กุญแจ",
    ),
];

/// A word for a secret in a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mention {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: SecretKind,
}

struct Lexicon {
    automaton: AhoCorasick,
    words: Vec<String>,
    entries: Vec<Entry>,
}

/// The kind of a word, and whether it is a stem.
#[derive(Clone, Copy)]
struct Entry {
    kind: SecretKind,
    is_stem: bool,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut words: Vec<(String, Entry)> = Vec::new();
    for (kind, list) in WORDS {
        for word in list.split(',') {
            let word = word.split_whitespace().collect::<Vec<_>>().join(" ");
            let is_stem = word.ends_with('*');
            let word = word.trim_end_matches('*').to_owned();
            // The automaton folds only the case of ASCII.
            let forms = match word.is_ascii() {
                true => vec![word],
                false => vec![capitalised(&word), word.to_uppercase(), word],
            };
            let entry = Entry {
                kind: *kind,
                is_stem,
            };
            for form in forms {
                if !words.iter().any(|(known, _)| *known == form) {
                    words.push((form, entry));
                }
            }
        }
    }
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(words.iter().map(|(word, _)| word))
        .expect("a few hundred words fit an automaton");
    let (words, entries) = words.into_iter().unzip();
    Lexicon {
        automaton,
        words,
        entries,
    }
});

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|it| it.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// The words in every form that is searched for; ASCII words in lower case.
pub(super) fn forms() -> impl Iterator<Item = String> {
    LEXICON.words.iter().cloned()
}

/// Every mention of a secret in a text, in order.
pub(super) fn mentions(text: &str) -> impl Iterator<Item = Mention> {
    let Lexicon {
        automaton, entries, ..
    } = &*LEXICON;
    automaton.find_iter(text).filter_map(|found| {
        let (start, end) = (found.start(), found.end());
        let Entry { kind, is_stem } = entries[found.pattern().as_usize()];
        let ending = ending(&text[end..]);
        // The ending of a stem belongs to the word.
        let end = if is_stem { end + ending.len() } else { end };
        let is_whole = is_whole(text, start, end, is_stem);
        is_whole.then_some(Mention { start, end, kind })
    })
}

/// The letters that continue a word.
fn ending(rest: &str) -> &str {
    let is_over = |it: char| !it.is_alphabetic() || is_unspaced(it);
    &rest[..rest
        .find(is_over)
        .unwrap_or(rest.len())
        .min(rest.floor_char_boundary(ENDING_LIMIT))]
}

/// The longest ending, in bytes.
const ENDING_LIMIT: usize = 24;

/// Words of at least this many letters are also found at the end of compounds: "Zugriffstoken".
pub(super) const COMPOUND: usize = 5;

/// The most letters that an inflection adds.
const INFLECTION: usize = 3;

/// Whether a match is a whole word, apart from its ending. Scripts without spaces have no word
/// boundaries.
fn is_whole(text: &str, start: usize, end: usize, is_stem: bool) -> bool {
    let word = &text[start..end];
    if word.chars().any(is_unspaced) {
        return true;
    }
    let before = text[..start].chars().next_back();
    let is_compound = word.chars().count() >= COMPOUND;
    if before.is_some_and(|it| {
        it.is_alphanumeric() && !is_unspaced(it) && !(is_compound && it.is_alphabetic())
    }) {
        return false;
    }
    if is_stem {
        return true;
    }
    let rest = &text[end..];
    let ending: String = rest
        .chars()
        .take_while(|it| it.is_alphanumeric() && !is_unspaced(*it))
        .take(INFLECTION + 2)
        .collect();
    let is_ascii = word.is_ascii();
    match is_ascii {
        // English words inflect only in the plural, which is left out; other languages have many
        // endings.
        true => {
            ending.is_empty()
                || word.len() > 4
                    && ending != "s"
                    && ending.chars().count() <= INFLECTION
                    && ending.chars().all(|it| it.is_lowercase())
        }
        false => {
            ending.chars().count() <= INFLECTION && ending.chars().all(|it| it.is_alphabetic())
        }
    }
}

/// Whether a letter belongs to a script without spaces between words.
pub(super) fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{0e00}'..='\u{0eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}
