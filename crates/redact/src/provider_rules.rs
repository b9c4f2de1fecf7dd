//! Rules for keys and tokens with the prefix or shape of a provider. Samples are written in parts
//! so that no scanner reports this table as a leak.

use super::credentials::{any, is_random};
use super::rules::{Find, Rule, Trigger, rule};

macro_rules! constructors {
    ($($(#[$doc:meta])* $constructor:ident: $find:ident, $check:ident;)+) => {
        $($(#[$doc])*
        const fn $constructor(
            name: &'static str,
            anchors: &'static str,
            pattern: &'static str,
            sample: &'static str,
            innocent: &'static str,
        ) -> Rule {
            let find = Find::$find(pattern, $check);
            rule(name, Trigger::Anchors(anchors), find, sample, sample, innocent)
        })+
    };
}

constructors! {
    /// A rule whose whole match, at the start of a word, is the secret.
    key: word, any;
    /// The same for a key with a prefix that also starts ordinary hyphenated words.
    random_key: word, is_random;
    /// A rule whose first group is the secret.
    part: anywhere, any;
}

/// Name, anchors, pattern, sample, innocent.
#[rustfmt::skip]
pub(super) static PROVIDER_RULES: [Rule; 76] = [
    key(
        "panpan token", "^panpan_",
        r"panpan_[0-9a-f]{12}_[0-9a-f]{16,}",
        concat!("panpan", "_0123456789ab_", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
        "panpan_core_utils, panpan_simulation_journal, panpan_0123456789ab_",
    ),
    random_key(
        "OpenAI key", "^sk-",
        r"sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{16,}",
        concat!("sk-", "proj-", "Ab1Cd2Ef3Gh4Ij5Kl6Mn7"),
        "class sk-folding-cube-spinner, task-17, disk-usage",
    ),
    key(
        "Anthropic key", "^sk-ant-",
        r"sk-ant-[A-Za-z0-9_-]{10,}",
        concat!("sk-", "ant-", "api03-", "Ab1Cd2Ef3Gh4Ij5Kl6"),
        "the sk-ant- prefix",
    ),
    key(
        "Stripe key", "^sk_ ^rk_ ^whsec_",
        r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{8,}|whsec_[A-Za-z0-9+/=]{16,})",
        concat!("sk_", "live_", "4eC39HqLyjWDarjtT1"),
        "pk_live_4eC39HqLyjWDarjtT1, sk_test_ or whsec_",
    ),
    key(
        "ElevenLabs key", "^sk_",
        r"sk_[0-9a-f]{40,}",
        concat!("sk_", "0123456789abcdef0123456789", "abcdef0123456789"),
        "sk_0123456789abcdef",
    ),
    key(
        "AWS access key", "^AKIA ^ASIA ^ABIA ^ACCA",
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}",
        concat!("AKIA", "IOSFODNN7", "EXAMPLE"),
        "AKIA is a prefix, ASIAN markets, AKIAshort",
    ),
    key(
        "AWS Bedrock key", "ABSK",
        r"ABSK[A-Za-z0-9+/=]{40,}",
        concat!("ABSK", "QmVkcm9ja0FQSUtleS0x", "QmVkcm9ja0FQSUtleS0x"),
        "ABSKiosk",
    ),
    key(
        "GitHub token", "^ghp_ ^gho_ ^ghu_ ^ghs_ ^ghr_ ^github_pat_",
        r"(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,})",
        concat!("gh", "p_", "0123456789abcdefABCD", "EF0123456789abcd"),
        "ghp_short, github_pattern_matching, 9fceb02d0ae598e95dc970b74767f19372d61af8",
    ),
    key(
        "GitLab token", "^glpat- ^gldt- ^glrt- ^glptt- ^glft- ^glsoat- ^glcbt- ^gloas- ^glimt- ^glagent-",
        r"gl(?:pat|dt|rt|ptt|ft|soat|cbt|oas|imt|agent)-[A-Za-z0-9_.-]{16,}",
        concat!("gl", "pat-", "Ab1Cd2Ef3Gh4Ij5Kl6Mn"),
        "glpat-docs, gluten-free",
    ),
    key(
        "Slack token", "^xox ^xapp-",
        r"xox[abeoprsc](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}",
        concat!("xox", "b-", "123456789012-", "abcdefABCDEF"),
        "xoxo, xapp-x, xox-b",
    ),
    part(
        "Slack webhook", "hooks.slack.com",
        r"hooks\.slack\.com(?:/|%2F)(?:services|workflows|triggers)(?:/|%2F)([A-Za-z0-9_/%]{8,})",
        concat!("https://hooks.sl", "ack.com/services/", "T0000/B0000/abcdEFGH1234"),
        "https://slack.com/services/T0000, hooks.slack.com",
    ),
    part(
        "Discord webhook", "/webhooks/ %2fwebhooks%2f",
        r"(?i:api(?:(?:/|%2F)v\d+)?(?:/|%2F)webhooks(?:/|%2F)\d+(?:/|%2F))([A-Za-z0-9_-]{8,})",
        concat!("https://discord.com/api/web", "hooks/123456789/", "abcdEFGH1234_-xyz"),
        "https://discord.com/api/webhooks/123456789",
    ),
    part(
        "Teams webhook", "webhook.office.com",
        r"webhook\.office\.com(?:/|%2F)webhookb2(?:/|%2F)([A-Za-z0-9@%/_-]{16,})",
        concat!("https://x.webhook.off", "ice.com/webhookb2/", "0123-4567@89ab/IncomingWebhook/cdef"),
        "https://x.webhook.office.com/docs",
    ),
    key(
        "Google key", "^AIza ^ya29. ^GOCSPX- ^1//0",
        r"AIza[0-9A-Za-z_-]{30,}|ya29\.[0-9A-Za-z_-]{10,}|GOCSPX-[0-9A-Za-z_-]{20,}|1//0[0-9A-Za-z_-]{20,}",
        concat!("AI", "zaSy", "A0123456789abcdefABCDEF012345678"),
        "AIzawa station, ya29.5 degrees, 1//0.5",
    ),
    key(
        "SendGrid key", "^SG.",
        r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        concat!("SG", ".", "0123456789abcdefABCDEF", ".0123456789abcdefABCDEF"),
        "SG.com, SG.1.2",
    ),
    key(
        "npm token", "^npm_",
        r"npm_[A-Za-z0-9]{30,}",
        concat!("npm", "_", "0123456789abcdefABCDEF0123456789abcd"),
        "npm_config_registry, npm_package_version",
    ),
    random_key(
        "PyPI token", "^pypi-",
        r"pypi-[A-Za-z0-9_-]{32,}",
        concat!("pypi", "-", "AgEIcHlwaS5vcmc0123456789abcdefABCDEF"),
        "pypi-server, pypi-mirror-of-the-whole-python-index-archive",
    ),
    key(
        "RubyGems key", "^rubygems_",
        r"rubygems_[a-f0-9]{32,}",
        concat!("rubygems", "_", "0123456789abcdef0123456789abcdef"),
        "rubygems_version",
    ),
    key(
        "Docker token", "^dckr_",
        r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{16,}",
        concat!("dckr", "_pat_", "Ab1Cd2Ef3Gh4Ij5Kl6Mn7"),
        "dckr_pat_x",
    ),
    key(
        "DigitalOcean token", "^doo_v1_ ^dop_v1_ ^dor_v1_",
        r"do[opr]_v1_[a-f0-9]{32,}",
        concat!("dop", "_v1_", "0123456789abcdef0123456789abcdef"),
        "dop_v1_beta",
    ),
    key(
        "Shopify token", "^shpat_ ^shpca_ ^shppa_ ^shpss_",
        r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{24,}",
        concat!("shp", "at_", "0123456789abcdef0123456789abcdef"),
        "shpat_guide",
    ),
    key(
        "Square token", "^sq0 ^EAAA",
        r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,}|EAAA[A-Za-z0-9_-]{56,}",
        concat!("sq0", "atp-", "Ab1Cd2Ef3Gh4Ij5Kl6Mn7O"),
        "sq0idp, EAAA rating",
    ),
    random_key(
        "Facebook token", "^EAA",
        r"EAA[B-Z][A-Za-z0-9]{20,}",
        concat!("EAA", "CEdEose0cBA", "0123abcdZD"),
        "EAABlock, EAAGLE, EAACEdEose0cBA, EAACOUNTINGDEPARTMENTHEADS",
    ),
    key(
        "Hugging Face token", "^hf_",
        r"hf_[A-Za-z0-9]{24,}",
        concat!("h", "f_", "abcdefghijklmnopqrstuvwxyzABCDEFGH"),
        "hf_hub_download, hf_transfer",
    ),
    key(
        "Groq key", "^gsk_",
        r"gsk_[A-Za-z0-9]{24,}",
        concat!("gs", "k_", "0123456789abcdefABCDEF012345"),
        "gsk_render",
    ),
    random_key(
        "xAI key", "^xai-",
        r"xai-[A-Za-z0-9_-]{24,}",
        concat!("xa", "i-", "0123456789abcdefABCDEF012345"),
        "xai-explainable-models-for-everyone",
    ),
    key(
        "Replicate token", "^r8_",
        r"r8_[A-Za-z0-9]{24,}",
        concat!("r", "8_", "0123456789abcdefABCDEF012345"),
        "r8_unorm texture",
    ),
    key(
        "Perplexity key", "^pplx-",
        r"pplx-[A-Za-z0-9]{24,}",
        concat!("ppl", "x-", "0123456789abcdefABCDEF012345"),
        "pplx-70b-online",
    ),
    key(
        "Tavily key", "^tvly-",
        r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{16,}",
        concat!("tvl", "y-", "dev-0123456789abcdefABCDEF"),
        "tvly-docs",
    ),
    key(
        "NVIDIA key", "^nvapi-",
        r"nvapi-[A-Za-z0-9_-]{24,}",
        concat!("nva", "pi-", "0123456789abcdefABCDEF012345"),
        "nvapi-docs",
    ),
    key(
        "LangSmith key", "^lsv2_",
        r"lsv2_(?:pt|sk)_[A-Za-z0-9_]{24,}",
        concat!("lsv2", "_pt_", "0123456789abcdef0123456789abcdef_0123"),
        "lsv2_migration",
    ),
    key(
        "Twilio key", "^SK",
        r"SK[0-9a-f]{32}",
        concat!("S", "K", "0123456789abcdef", "0123456789abcdef"),
        "SKU 0123456789, SK0123",
    ),
    key(
        "Mailgun key", "^key-",
        r"key-[0-9a-f]{32}",
        concat!("key", "-", "0123456789abcdef", "0123456789abcdef"),
        "key-value store, key-0123",
    ),
    key(
        "Brevo key", "^xkeysib-",
        r"xkeysib-[a-f0-9]{32,}-?[A-Za-z0-9]*",
        concat!("xkey", "sib-", "0123456789abcdef0123456789abcdef-Ab1C"),
        "xkeysib-docs",
    ),
    key(
        "Entra client secret", "8Q",
        r"[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{28,}",
        concat!("abc", "8Q~", "0123456789abcdefABCDEF0123456789ab"),
        "8Q~4",
    ),
    part(
        "Telegram bot token", ":AA",
        r"(?:bot)?(\d{8,10}:AA[A-Za-z0-9_-]{30,})",
        concat!("1234567890", ":AA", "0123456789abcdefABCDEF0123456789a"),
        "1234567890:AAA battery",
    ),
    key(
        "Databricks token", "^dapi",
        r"dapi[0-9a-f]{32}(?:-\d)?",
        concat!("da", "pi", "0123456789abcdef", "0123456789abcdef"),
        "dapiclient, dapi0123",
    ),
    key(
        "Postman key", "^PMAK-",
        r"PMAK-[0-9a-f]{20,}(?:-[0-9a-f]+)?",
        concat!("PM", "AK-", "0123456789abcdef01234567-0123456789abcdef"),
        "PMAK-x",
    ),
    key(
        "Linear key", "^lin_",
        r"lin_(?:api|oauth)_[A-Za-z0-9]{24,}",
        concat!("lin", "_api_", "0123456789abcdefABCDEF0123456789"),
        "lin_api_docs",
    ),
    key(
        "Notion token", "secret_ ^ntn_",
        r"(?:secret_|ntn_)[A-Za-z0-9]{32,}",
        concat!("nt", "n_", "0123456789abcdefABCDEF0123456789"),
        "secret_santa_list, ntn_x",
    ),
    key(
        "Vault token", "^hvs. ^hvb. ^hvr.",
        r"hv[sbr]\.[A-Za-z0-9_-]{20,}",
        concat!("hv", "s.", "CAESI0123456789abcdefABCDEF"),
        "hvs.example.com",
    ),
    key(
        "Terraform token", ".atlasv1.",
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{30,}",
        concat!("Ab1Cd2Ef3Gh4Ij", ".atlasv1.", "0123456789abcdefABCDEF0123456789"),
        "x.atlasv1.y",
    ),
    key(
        "age key", "^age-secret-key-1",
        r"(?i:age-secret-key-1[0-9a-z]{40,})",
        concat!("AGE-SEC", "RET-KEY-1", "QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ"),
        "AGE-SECRET-KEY-1 starts an age identity; age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
    ),
    key(
        "Atlassian token", "^ATATT3 ^ATCTT3 ^ATBB",
        r"(?:AT[AC]TT3[A-Za-z0-9_=.-]{24,}|ATBB[A-Za-z0-9]{24,})",
        concat!("ATA", "TT3x", "FfGF00123456789abcdefABCDEF01"),
        "ATATT3, ATBBQ",
    ),
    key(
        "Grafana token", "^glsa_ ^glc_",
        r"(?:glsa_[A-Za-z0-9]{24,}(?:_[a-f0-9]{8})?|glc_[A-Za-z0-9+/=]{32,})",
        concat!("gl", "sa_", "0123456789abcdefABCDEF0123456789_01234567"),
        "glsa_role, glc_x",
    ),
    key(
        "New Relic key", "^NRAK- ^NRII-",
        r"NR(?:AK|II)-[A-Za-z0-9_-]{24,}",
        concat!("NR", "AK-", "0123456789ABCDEF0123456789A"),
        "NRAK-x",
    ),
    key(
        "Sentry token", "^sntrys_ ^sntryu_",
        r"sntry[su]_[A-Za-z0-9+/=_-]{24,}",
        concat!("sntr", "ys_", "eyJpYXQiOjE2ODc0NTAwMDB9_0123"),
        "sntrys_x",
    ),
    key(
        "PlanetScale token", "^pscale_",
        r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{24,}",
        concat!("psc", "ale_tkn_", "0123456789abcdefABCDEF0123456789"),
        "pscale_branch",
    ),
    key(
        "Supabase token", "^sbp_ ^sb_secret_",
        r"(?:sbp_[a-f0-9]{32,}|sb_secret_[A-Za-z0-9_-]{16,})",
        concat!("sb", "p_", "0123456789abcdef0123456789abcdef01234567"),
        "sbp_docs, sb_publishable_0123456789abcdef",
    ),
    key(
        "Pulumi token", "^pul-",
        r"pul-[a-f0-9]{32,}",
        concat!("pu", "l-", "0123456789abcdef0123456789abcdef01234567"),
        "pul-request",
    ),
    key(
        "Doppler token", "^dp.pt. ^dp.st. ^dp.ct. ^dp.sa.",
        r"dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9._-]{24,}",
        concat!("dp", ".pt.", "0123456789abcdefABCDEF0123456789"),
        "dp.st.x",
    ),
    key(
        "Figma token", "^figd_",
        r"figd_[A-Za-z0-9_-]{24,}",
        concat!("fi", "gd_", "0123456789abcdefABCDEF0123456789"),
        "figd_x",
    ),
    key(
        "Airtable token", "^pat",
        r"pat[A-Za-z0-9]{14}\.[a-f0-9]{48,}",
        concat!("pa", "tAb1Cd2Ef3Gh4Ij", ".0123456789abcdef0123456789abcdef0123456789abcdef"),
        "path.to/x, pattern.compile",
    ),
    key(
        "Dynatrace token", "^dt0",
        r"dt0[a-z]\d{2}\.[A-Z0-9]{20,}\.[A-Z0-9]{40,}",
        concat!("dt0", "c01.ABCDEFGHIJKLMNOPQRSTUVWX", ".ABCDEFGHIJKLMNOPQRSTUVWXABCDEFGHIJKLMNOPQRSTUVWX"),
        "dt0 = now()",
    ),
    key(
        "Artifactory key", "^AKCp",
        r"AKCp[A-Za-z0-9]{40,}",
        concat!("AK", "Cp", "0123456789abcdefABCDEF0123456789abcdefABCDEF"),
        "AKCpx",
    ),
    key(
        "Sourcegraph token", "^sgp_",
        r"sgp_(?:[A-Za-z0-9]+_)?[a-f0-9]{40}",
        concat!("sg", "p_", "0123456789abcdef0123456789abcdef01234567"),
        "sgp_x",
    ),
    key(
        "1Password token", "^ops_eyJ",
        r"ops_eyJ[A-Za-z0-9_=-]{24,}",
        concat!("op", "s_eyJ", "zaWduSW5BZGRyZXNzIjoib0123"),
        "ops_eyJ",
    ),
    part(
        "AWS signature", "aws4-hmac",
        r"AWS4-HMAC-SHA256(?:\s|%20|\+)+(Credential(?:=|%3D)[^\n\r\x22']+)",
        concat!("AWS4-HMAC-SHA256 Cred", "ential=a/20260101/x, SignedHeaders=host, Sign", "ature=0123abcd"),
        "AWS4-HMAC-SHA256 is the algorithm",
    ),
    key(
        "Tailscale key", "^tskey-",
        r"tskey-[a-z]+-[A-Za-z0-9-]{12,}",
        concat!("tsk", "ey-auth-", "k0123456CNTRL-0123456789abcdef"),
        "tskey-auth-docs",
    ),
    key(
        "Contentful token", "^CFPAT-",
        r"CFPAT-[A-Za-z0-9_-]{20,}",
        concat!("CFP", "AT-", "0123456789abcdefABCDEF0123456789"),
        "CFPAT-x",
    ),
    key(
        "Vercel blob token", "^vercel_blob_rw_",
        r"vercel_blob_rw_[A-Za-z0-9_]{16,}",
        concat!("vercel_bl", "ob_rw_", "0123456789abcdef_0123456789ABCDEF"),
        "vercel_blob_rw_docs",
    ),
    key(
        "Alibaba key", "^LTAI",
        r"LTAI[A-Za-z0-9]{12,}",
        concat!("LT", "AI", "5t0123456789abcdefAB"),
        "LTAIR, LTAI4",
    ),
    key(
        "Dropbox token", "^sl.",
        r"sl\.B[A-Za-z0-9_-]{40,}",
        concat!("sl", ".B", "0123456789abcdefABCDEF0123456789abcdefABCDEF01"),
        "sl.Bahnhof, sl.example.com",
    ),
    key(
        "PayPal token", "^A21AA",
        r"A21AA[A-Za-z0-9_-]{40,}",
        concat!("A21", "AA", "0123456789abcdefABCDEF0123456789abcdefABCDEF0123"),
        "A21AA, A21 motorway",
    ),
    key(
        "Heroku key", "^HRKU-",
        r"HRKU-[A-Za-z0-9_-]{24,}",
        concat!("HR", "KU-", "0123456789abcdefABCDEF0123456789"),
        "HRKU-docs",
    ),
    key(
        "Honeycomb key", "^hca ^hcx",
        r"hc[ax](?:ik|lk|mk)_[a-z0-9]{24,}",
        concat!("hca", "ik_", "01hqk0123456789abcdefghijkmnpq"),
        "hcaik_docs",
    ),
    key(
        "Salesforce session", "^00D",
        r"00D[A-Za-z0-9]{9,15}![A-Za-z0-9._]{20,}",
        concat!("00D", "Hp000000abcd", "!AQcAQ", "0123456789abcdefABCDEF"),
        "00D5f000000abcdEAA",
    ),
    key(
        "Okta token", "^SSWS",
        r"(?:SSWS\s+)([A-Za-z0-9_-]{20,})",
        concat!("SS", "WS 00", "0123456789abcdefABCDEF0123456789"),
        "the SSWS scheme",
    ),
    part(
        "Zapier webhook", "hooks.zapier.com",
        r"hooks\.zapier\.com(?:/|%2F)hooks(?:/|%2F)catch(?:/|%2F)\d+(?:/|%2F)([A-Za-z0-9]{5,})",
        concat!("https://hooks.zap", "ier.com/hooks/catch/", "123456/a1b2c3d"),
        "https://hooks.zapier.com/docs",
    ),
    key(
        "Braintree token", "^access_token$",
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{8,}\$[a-f0-9]{32}",
        concat!("access_to", "ken$production$", "0123456789abcdef$0123456789abcdef0123456789abcdef"),
        "access_token$ is a prefix",
    ),
    part(
        "Opsgenie key", "^geniekey",
        r"(?i:geniekey)\s+([A-Za-z0-9-]{20,})",
        concat!("Genie", "Key 0123456", "7-0123-0123-0123-0123456789ab"),
        "GenieKey is the scheme",
    ),
    part(
        "address of a node", "alchemy.com/ infura.io/ quiknode.pro/ ankr.com/",
        r"(?:alchemy\.com|infura\.io|quiknode\.pro|ankr\.com)/(?:(?:nft/)?v\d/|\w+/)?([A-Za-z0-9_-]{20,})",
        concat!("https://eth-mainnet.g.alche", "my.com/v2/", "0123456789abcdefABCDEF0123456789"),
        "https://docs.alchemy.com/reference/api-overview",
    ),
    key(
        "Netlify token", "^nfp_ ^nfc_",
        r"nf[pc]_[A-Za-z0-9]{24,}",
        concat!("nf", "p_", "0123456789abcdefABCDEF0123456789"),
        "nfp_docs",
    ),
    random_key(
        "key with a prefix", "^rdme_ ^sqp_ ^squ_ ^sqa_ ^bkua_ ^CCIPAT_ ^CLOJARS_ ^napi_ ^rnd_ ^pnu_ ^tfp_ ^duffel_ ^shippo_ ^waka_ ^fm2_ ^FLWSECK ^EZAK ^EZTK",
        r"(?:rdme|sq[pua]|bkua|CCIPAT|CLOJARS|napi|rnd|pnu|tfp|duffel_(?:live|test)|shippo_(?:live|test)|waka|fm2)_[A-Za-z0-9_/+=-]{20,}|FLWSECK(?:_TEST)?-[A-Za-z0-9-]{16,}|EZ[AT]K[A-Za-z0-9]{40,}",
        concat!("sq", "u_", "4b6ffedb0f798d74412d346c517c84d115238c8c"),
        "rnd_seed, sqa_report_of_last_quarter_final, EZAKtion, waka_waka",
    ),
    key(
        "NuGet key", "^oy2",
        r"oy2[a-z0-9]{43}",
        concat!("oy", "2abcdefghijklmnopqrstuvwxyz0123456789", "abcdefg"),
        "oy2 is a prefix",
    ),
    key(
        "key around a UUID", "^sdk- ^mob- ^pat-na ^pat-eu ^access-production- ^access-sandbox-",
        r"(?:sdk|mob|pat-(?:na|eu)\d|access-(?:production|sandbox))-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        concat!("sd", "k-01234567-0123-0123-0123-", "0123456789ab"),
        "sdk-01234567, mob-programming, access-production-servers",
    ),
];
