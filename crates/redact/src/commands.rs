//! Finds passwords on command lines and in the dialogues of old protocols, where only the program
//! tells what a value is. Values with a name (`--password x`, `PGPASSWORD=x`) are found in `pairs`.

use std::sync::LazyLock;

use regex::Regex;

use super::harmless::is_harmless;
use super::rules::pattern;
use super::shape::{Shape, shape_of};
use super::spans::Spans;

/// A text without any of these words has no such password.
pub(super) const ANCHORS: &str = "ldapsearch ldapmodify ldapadd ldapwhoami ldappasswd --password-file az~login docker~login podman~login mosquitto_ ipmitool snmpget \
    snmpwalk snmpset redis-cli sqlcmd ^bcp$ ^isql$ mongosh mongodump ^mongo$ ^7z ^rar$ unrar unzip zip$ keytool jarsigner smbclient plink pscp htpasswd passin passout -pass$ \
    lftp sqlplus sqlldr expdp impdp oracle:thin securestring net~use wpa_passphrase xfreerdp ^login$ ^pass$ ^auth$ sshpass mysql mariadb psexec winexe \
    pgpass helm~registry cqlsh influx connect( login( authenticate( password( construct( signin( sign_in( <input";

/// A value on a command line: quoted, or up to a blank. Some programs print a command as a list.
const VALUE: &str = r#"(?:"([^"\n]{1,200}?)\\*"|'([^'\n]{1,200}?)\\*'|["']?([^\s"',;)\]]+))"#;

/// What is between a flag and its value.
const BETWEEN: &str = r#"(?:\\*["'](?:,\s*|\s+)|=|\s){0,3}\\*"#;

/// Patterns for a program, its flag and the value.
static COMMANDS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    const FLAGS: &[(&str, &str)] = &[
        (
            r"ldap(?:search|modify|add|delete|whoami|passwd)",
            r"-w|-s|-a",
        ),
        (r"az\s+login", r"-p|--password"),
        (
            r"(?:docker|podman|helm\s+registry|nerdctl|buildah|skopeo)\s+login",
            r"-p|--password",
        ),
        (r"mosquitto_(?:pub|sub|rr)", r"-P|--pw"),
        (r"ipmitool", r"-P"),
        (r"snmp(?:get|walk|set|bulkwalk|getnext|trap)", r"-A|-X"),
        (r"redis-cli", r"-a"),
        (r"(?:sqlcmd|bcp|isql|osql|tsql)", r"-P"),
        (
            r"(?:mongosh?|mongodump|mongorestore|mongoexport|cqlsh|influx)",
            r"-p",
        ),
        (r"(?:unzip|zip)", r"-P"),
        (
            r"(?:keytool|jarsigner|apksigner)",
            r"-storepass|-keypass|--ks-pass|-srcstorepass|-deststorepass",
        ),
        (r"(?:plink|pscp|psftp|putty)(?:\.exe)?", r"-pw"),
        (r"(?:psexec|winexe)\S*", r"-p"),
        (r"(?:smbclient|rpcclient)", r"-U\s+\S+%"),
        (r"lftp", r"-u\s+\S+,"),
        (r"xfreerdp", r"/p:"),
    ];
    let flags = FLAGS.iter().map(|(program, flag)| {
        format!(r#"\b{program}\b["']?[,\s](?:[^\n]{{0,400}}?[\s"'])??(?:{flag}){BETWEEN}{VALUE}"#)
    });
    const FORMS: &[&str] = &[
        r"\b(?:mysql|mariadb|mysqldump|mysqladmin)\b(?: [^\n]{0,400}?)? -p([^\s-]\S*)",
        r"\b(?:7za?|7z\.exe|rar|unrar)\s[^\n]{0,400}?\s-p([^\s`'\x22]+)",
        r"-pass(?:in|out)?\s+pass:(\S+)",
        r"\b(?:sqlplus|sqlldr|expdp|impdp|exp|imp|rman)\s[^\n]{0,200}?[\w$]+/([^\s@]+)@",
        r"oracle:thin:[\w$]+/([^\s@]+)@",
        r#"(?i)ConvertTo-SecureString\s+(?:-String\s+)?["']([^"'\n]+)["']"#,
        r"(?i)\bnet\s+use\s[^\n]{0,200}?\\\\\S+\s+([^\s/]\S*)\s[^\n]{0,60}/user",
        r"(?i)\bnet\s+use\s[^\n]{0,200}?/user:\S+\s+([^\s/]\S*)",
        r#"(?:^|[\s'"])[A-Za-z]*\d+\s+LOGIN\s+"?[^\s"]+"?\s+"?([^\s"']{4,})"#,
        r"\bUSER\s+\S+\s+PASS\s+(\S+)",
        r"--password-file=<\(echo\s+(\S+?)\)",
        r"(?m)(?:^|> |C: |>>> )PASS\s+(\S{4,})",
        r"(?:^|[>\s])AUTH\s+(?:PLAIN\s+|LOGIN\s+)?([A-Za-z0-9+/=_!@#$%^&*.-]{6,})\s*(?:$|\n|\\r)",
        r"\bwpa_passphrase\s+\S+\s+(\S{8,})",
        r"\bhtpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+(\S+)",
        r"(?m)^(?:line \d+ ignored: )?[\w.*-]+:(?:\d{2,5}|\*):[\w*-]+:[\w*-]+:(\S+)",
        r#"(?i)<input\b[^>]{0,200}type=["']?password["']?[^>]{0,200}\bvalue=["']([^"'>]+)["']"#,
        r#"(?i)<input\b[^>]{0,200}\bvalue=["']([^"'>]+)["'][^>]{0,200}type=["']?password"#,
        r#"\bauth=\(\s*["'][^"'\n]{0,80}["'],\s*["']([^"'\n]+)["']"#,
    ];
    let forms = FORMS.iter().map(|form| (*form).to_owned());
    // Behind the options of `sshpass` comes a command, whose `-p` is a port.
    const OPTIONS: &str = r#"(?:["'\s,]+-(?:[ehvV]+|[Pdf]["'\s,]*[^\s"']+))*["'\s,]+"#;
    let sshpass = format!(r"\bsshpass\b{OPTIONS}-p{BETWEEN}{VALUE}");
    flags
        .chain([sshpass])
        .chain(forms)
        .map(|form| Regex::new(&form).expect("a fixed pattern compiles"))
        .collect()
});

/// A function call that logs in, with its arguments.
static CALL: LazyLock<Regex> = pattern!(
    r"(?i)\b\w*(?:connect|log_?in|authenticat|passw|auth|construct|sign_?in)\w*\(([^()\n]{1,400})\)"
);

/// Collects the arguments of function calls that log in, except the first, which is a user or a
/// host.
fn find_arguments(text: &str, spans: &mut Spans) {
    for call in CALL.captures_iter(text).filter_map(|it| it.get(1)) {
        let mut at = call.start();
        for (index, argument) in call.as_str().split(',').enumerate() {
            let value = argument.trim().trim_matches(['\'', '"']);
            let is_quoted = argument.trim().starts_with(['\'', '"']) && !value.is_empty();
            if index > 0 && is_quoted && matches!(shape_of(value), Shape::Password | Shape::Opaque)
            {
                let start = at + argument.find(value).unwrap_or(0);
                spans.push(start..start + value.len());
            }
            at += argument.len() + 1;
        }
    }
}

/// Collects the passwords in the commands and dialogues of a text.
pub(super) fn find(text: &str, spans: &mut Spans) {
    find_arguments(text, spans);
    for command in COMMANDS.iter() {
        let mut at = 0;
        while let Some(found) = command.captures_at(text, at) {
            let Some(value) = found.iter().skip(1).flatten().next() else {
                break;
            };
            if !is_harmless(value.as_str()) && !value.as_str().starts_with('-') {
                spans.push(value.range());
            }
            at = value.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    #[test]
    fn the_password_of_a_command_is_removed_and_later_flags_stay() {
        for (command, expected) in [
            (
                "sshpass -p hunter22 ssh -p 2222 deploy@host",
                "sshpass -p [REDACTED] ssh -p 2222 deploy@host",
            ),
            (
                "sshpass -p 'tr0ub4dor and 3' ssh -p 22 host",
                "sshpass -p '[REDACTED]' ssh -p 22 host",
            ),
            (
                r#"ran \"sshpass -p \"hunter22 x\" ssh host\""#,
                r#"ran \"sshpass -p \"[REDACTED]\" ssh host\""#,
            ),
            (
                "['sshpass', '-p', 'hunter22', 'ssh', '-p', '2222']",
                "['sshpass', '-p', '[REDACTED]', 'ssh', '-p', '2222']",
            ),
            (
                "sshpass -v -P pass: -phunter22 ssh",
                "sshpass -v -P pass: -p[REDACTED] ssh",
            ),
            (
                "docker login -u ann -p hunter22 registry.example",
                "docker login -u ann -p [REDACTED] registry.example",
            ),
        ] {
            assert_eq!(Redactor::new().text(command), expected);
        }
    }

    #[test]
    fn commands_without_a_password_stay() {
        for command in [
            "sshpass -e ssh -p 2222 deploy@host",
            "sshpass -f /run/pw ssh -p 2222 deploy@host",
            "sshpass -p $PASSWORD ssh deploy@host",
            "ssh -p 2222 deploy@host",
        ] {
            assert_eq!(Redactor::new().text(command), command);
        }
    }
}
