//! TLS settings: the protocol and the trusted certificates.

use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::Verifier;

/// The only protocol offered over TLS.
const ALPN: &[u8] = b"http/1.1";

/// The reason that an HTTP client cannot be initialised.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The PEM is malformed.
    #[error("cannot parse the CA certificates as PEM")]
    Pem(#[source] PemError),
    /// The PEM has no certificate.
    #[error("the CA PEM contains no certificate")]
    NoCertificate,
    /// TLS cannot be initialised, usually because the system has no trusted certificates.
    #[error("cannot initialise TLS")]
    Tls(#[source] rustls::Error),
}

/// Trusts the certificates of the system and those in `ca`, as PEM.
pub(crate) fn with_system_roots(ca: Option<&[u8]>) -> Result<ClientConfig, SetupError> {
    let provider = Arc::new(ring::default_provider());
    let extra = ca.map_or(Ok(Vec::new()), certificates)?;
    let verifier = Verifier::new_with_extra_roots(extra, provider.clone());
    let verifier = Arc::new(verifier.map_err(SetupError::Tls)?);
    let builder = builder(provider)?.dangerous();
    Ok(finished(builder.with_custom_certificate_verifier(verifier)))
}

/// Trusts no certificate, so that plain HTTP also works on a system without any.
pub(crate) fn without_roots() -> Result<ClientConfig, SetupError> {
    let builder = builder(Arc::new(ring::default_provider()))?;
    Ok(finished(
        builder.with_root_certificates(RootCertStore::empty()),
    ))
}

/// Passes the cryptography provider explicitly, so that the default of the process stays untouched.
fn builder(
    provider: Arc<CryptoProvider>,
) -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, SetupError> {
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(SetupError::Tls)
}

fn finished(builder: ConfigBuilder<ClientConfig, WantsClientCert>) -> ClientConfig {
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    config
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, SetupError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = read.map_err(SetupError::Pem)?;
    if certificates.is_empty() {
        return Err(SetupError::NoCertificate);
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pem_without_a_valid_certificate_is_an_error() {
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n";
        assert!(matches!(
            certificates(b"hello"),
            Err(SetupError::NoCertificate)
        ));
        assert!(matches!(
            certificates(broken.as_bytes()),
            Err(SetupError::Pem(_))
        ));
    }
}
