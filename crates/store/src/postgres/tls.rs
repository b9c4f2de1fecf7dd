//! TLS to the database, with rustls.

use std::fs::File;
use std::future::Future;
use std::io::{self, Read as _};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::{TlsConnector, client};

use super::address::Trust;

/// The most bytes of a file of certificates that are read.
const AUTHORITIES_BYTES: u64 = 1024 * 1024;

/// Makes TLS connections to the database.
#[derive(Clone)]
pub(super) struct Tls(TlsConnector);

impl Tls {
    /// Reads the trusted certificates; the error says what is wrong with them.
    pub(super) fn new(trust: &Trust) -> Result<Self, String> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match trust {
            Trust::HostName {
                authorities: Some(path),
            } => builder.with_root_certificates(read_authorities(path)?),
            Trust::HostName { authorities: None } => {
                let verifier = Verifier::new(provider).map_err(|error| error.to_string())?;
                let verifier = Arc::new(verifier);
                builder
                    .dangerous()
                    .with_custom_certificate_verifier(verifier)
            }
            Trust::Anything => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyCertificate::of(&provider))),
        };
        let config = Arc::new(builder.with_no_client_auth());
        Ok(Self(TlsConnector::from(config)))
    }
}

fn read_authorities(path: &Path) -> Result<RootCertStore, String> {
    let unreadable = |reason: String| format!("cannot read {}: {reason}", path.display());
    let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_reader_iter(file.take(AUTHORITIES_BYTES)) {
        let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
        let added = roots.add(certificate);
        added.map_err(|error| unreadable(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unreadable("it contains no certificate".to_owned()));
    }
    Ok(roots)
}

/// Accepts every certificate, for `sslmode=require`: it encrypts and does not authenticate.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl AnyCertificate {
    fn of(provider: &CryptoProvider) -> Self {
        Self(provider.signature_verification_algorithms)
    }
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// A TLS connection to one host.
pub(super) struct HostConnector {
    connector: TlsConnector,
    host: ServerName<'static>,
}

impl<S> MakeTlsConnect<S> for Tls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type TlsConnect = HostConnector;
    type Error = rustls::pki_types::InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<HostConnector, Self::Error> {
        Ok(HostConnector {
            connector: self.0.clone(),
            host: ServerName::try_from(host.to_owned())?,
        })
    }
}

impl<S> TlsConnect<S> for HostConnector
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let connecting = self.connector.connect(self.host, stream);
        Box::pin(async move { connecting.await.map(|stream| Encrypted(Box::new(stream))) })
    }
}

/// An encrypted stream.
pub(super) struct Encrypted<S>(Box<client::TlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    /// None: the password is then proven without a tie to the certificate, which verify-full checks.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(context)
    }
}
