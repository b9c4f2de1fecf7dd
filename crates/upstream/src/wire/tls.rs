//! Which certificates are trusted.

use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::Verifier;

/// The only protocol spoken within TLS.
const ALPN: &[u8] = b"http/1.1";

/// Why no client can be made.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The PEM cannot be read.
    #[error("the certificates to trust cannot be read as PEM")]
    Pem(#[source] PemError),
    /// There is nothing in the PEM.
    #[error("there is no certificate among the certificates to trust")]
    NoCertificate,
    /// TLS cannot be set up, usually for want of certificates to trust.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
}

/// Trusts whom the system trusts, and these certificates as PEM besides.
pub(crate) fn trusting(ca: Option<&[u8]>) -> Result<ClientConfig, SetupError> {
    let provider = Arc::new(ring::default_provider());
    let extra = ca.map_or(Ok(Vec::new()), certificates)?;
    let verifier = Verifier::new_with_extra_roots(extra, provider.clone());
    let verifier = Arc::new(verifier.map_err(SetupError::Tls)?);
    let builder = versions(provider)?.dangerous();
    Ok(finished(builder.with_custom_certificate_verifier(verifier)))
}

/// Trusts nobody: without TLS nobody has to be trusted, and the certificates of the system need not be
/// there.
pub(crate) fn trusting_nobody() -> Result<ClientConfig, SetupError> {
    let builder = versions(Arc::new(ring::default_provider()))?;
    Ok(finished(
        builder.with_root_certificates(RootCertStore::empty()),
    ))
}

/// The cryptography is passed along: what the rest of the process uses is not touched.
fn versions(
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
    fn what_is_no_certificate_is_not_trusted() {
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
