//! TLS to the database.

use panpan_runtime::ports::Outcomes as _;
use panpan_store::{PostgresAddress, PostgresOpenError, PostgresStore};
use panpan_testkit::{Folder, PostgresServer};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::support::scope;

/// A server with a certificate for 127.0.0.1, and the authority that issued it.
fn server_and_authority() -> (PostgresServer, String) {
    let authority = authority();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, &authority).unwrap();
    let files = [
        ("server.crt", &*certificate.pem()),
        ("server.key", &*key.serialize_pem()),
    ];
    let server = PostgresServer::start_with(&["ssl=on"], &files);
    (server, authority.pem())
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap()
}

/// Opens a database and returns whether its connections are encrypted.
fn is_encrypted(server: &PostgresServer, address: &str) -> Result<bool, PostgresOpenError> {
    let parsed: PostgresAddress = address.parse().unwrap();
    let store = PostgresStore::open(&parsed)?;
    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
        WHERE application_name = 'panpan'";
    let encrypted = server.sql("postgres", encrypted) == "t";
    drop(store);
    Ok(encrypted)
}

#[test]
fn each_sslmode_encrypts_and_verifies_as_it_says() {
    let (server, authority) = server_and_authority();
    let folder = Folder::new();
    let authority = folder.file("authority.pem", authority);
    let other = folder.file("other.pem", self::authority().pem());
    let address = server.new_database();
    for (query, expected) in [
        ("?sslmode=disable".to_owned(), Some(false)),
        (String::new(), Some(true)),
        ("?sslmode=prefer".to_owned(), Some(true)),
        ("?sslmode=require".to_owned(), Some(true)),
        (
            format!("?sslmode=verify-full&sslrootcert={authority}"),
            Some(true),
        ),
        (format!("?sslmode=verify-full&sslrootcert={other}"), None),
        ("?sslmode=verify-full&sslrootcert=/missing".to_owned(), None),
        ("?sslmode=verify-full".to_owned(), None),
    ] {
        match is_encrypted(&server, &format!("{address}{query}")) {
            Ok(encrypted) => assert_eq!(Some(encrypted), expected, "{query}"),
            Err(error) => {
                assert!(
                    matches!(error, PostgresOpenError::Tls { .. }),
                    "{query}: {error}"
                );
                assert_eq!(expected, None, "{query}: {error}");
            }
        }
    }
    // The certificate is for the address, not for the name.
    let named = address.replace("127.0.0.1", "localhost");
    let named = format!("{named}?sslmode=verify-full&sslrootcert={authority}");
    let refused = is_encrypted(&server, &named).unwrap_err();
    assert!(
        matches!(refused, PostgresOpenError::Tls { .. }),
        "{refused}"
    );
}

#[tokio::test]
async fn a_server_without_tls_is_refused_if_tls_is_required() {
    let address = PostgresServer::shared().new_database();
    let required: PostgresAddress = format!("{address}?sslmode=require").parse().unwrap();
    let refused = PostgresStore::open(&required).unwrap_err();
    assert!(
        matches!(refused, PostgresOpenError::Tls { .. }),
        "{refused}"
    );
    let preferred: PostgresAddress = address.parse().unwrap();
    let store = PostgresStore::open(&preferred).unwrap();
    assert_eq!(store.kept(scope(1)).await, Ok(None));
}
