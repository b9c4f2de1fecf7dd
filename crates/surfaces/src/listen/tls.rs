//! TLS settings from two files: a certificate chain and its private key.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Why TLS cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {0}")]
    Unreadable(PathBuf, #[source] pem::Error),
    /// The file has no certificate.
    #[error(
        "there is no certificate in {0}; expected a PEM chain that starts with the server's own"
    )]
    NoCertificate(PathBuf),
    /// The file has no private key.
    #[error("there is no private key in {0}; expected one in PEM")]
    NoKey(PathBuf),
    /// Certificate and key do not match.
    #[error("the certificate in {0} cannot be used with the key in {1}")]
    Unusable(PathBuf, PathBuf, #[source] rustls::Error),
}

/// The acceptor for TLS handshakes.
pub fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let chain = chain(certificate)?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| match error {
        pem::Error::NoItemsFound => TlsError::NoKey(key.to_owned()),
        error => TlsError::Unreadable(key.to_owned(), error),
    })?;
    let unusable = |error| TlsError::Unusable(certificate.to_owned(), key.to_owned(), error);
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let unreadable = |error| TlsError::Unreadable(path.to_owned(), error);
    let certificates = CertificateDer::pem_file_iter(path).map_err(unreadable)?;
    let chain: Vec<_> = certificates.collect::<Result<_, _>>().map_err(unreadable)?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate(path.to_owned()));
    }
    Ok(chain)
}
