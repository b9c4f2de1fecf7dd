//! Certificates that are generated when the service starts: an authority, and valid and invalid certificates.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::TlsAcceptor;

use crate::service::StartError;

/// A flaw of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    Nothing,
    SelfSigned,
    Expired,
    OtherHost,
}

/// The authority that a client has to trust to reach the service over TLS.
#[derive(Debug)]
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) pem: String,
}

impl Authority {
    pub(crate) fn new() -> Result<Self, StartError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let name = &mut params.distinguished_name;
        name.push(DnType::CommonName, "authority of the faulty service");
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        let issuer = Issuer::new(params, key);
        Ok(Self { issuer, pem })
    }

    /// An acceptor with a certificate that has this flaw.
    pub(crate) fn acceptor(&self, flaw: Flaw) -> Result<TlsAcceptor, StartError> {
        let names = match flaw {
            Flaw::OtherHost => vec!["elsewhere.example".to_owned()],
            _ => vec![
                "127.0.0.1".to_owned(),
                "::1".to_owned(),
                "localhost".to_owned(),
            ],
        };
        let mut params = CertificateParams::new(names)?;
        if flaw == Flaw::Expired {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        }
        let key = KeyPair::generate()?;
        let certificate = match flaw {
            Flaw::SelfSigned => params.self_signed(&key)?,
            _ => params.signed_by(&key, &self.issuer)?,
        };
        let chain = vec![certificate.der().clone()];
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        let config = ServerConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key.into())?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
