//! `panpan serve`: a server for every protocol.

mod banner;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use panpan_surfaces::Anonymous;
use panpan_surfaces::http::{Hosts, HttpSettings, Origins, router};
use panpan_surfaces::listen::{self, ListenError, TlsError};
use tokio::net::TcpListener;

use self::banner::Banner;
use super::Status;
use super::error::{Hinted, with_hint};
use super::shutdown::Shutdown;
use crate::backend::{Backend, ServerSet};
use crate::config::{self, Config, Flags};
use crate::log::{self, info, warn};
use crate::reload;
use crate::signals::Signals;

/// The options of `panpan serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Settings come from a file, PANPAN_ variables and flags; later ones win. All settings: docs/configuration.md.
SIGHUP reloads the sources. The first SIGINT or SIGTERM waits for calls in flight, the second stops at once.

Examples:
  panpan serve
  panpan serve --openapi api.yaml@https://api.example.com
  panpan serve --mcp-stdio \"files=npx -y @modelcontextprotocol/server-filesystem .\" --mcp tickets=https://mcp.example.com/mcp
  panpan serve --listen 0.0.0.0:7077 --tls-certificate chain.pem --tls-key key.pem")]
pub(super) struct Args {
    #[command(flatten)]
    flags: Flags,
}

/// Serves until a signal arrives.
pub(super) fn run(args: &Args) -> anyhow::Result<Status> {
    let file = args.flags.config.as_deref();
    let hint = "correct the listed settings; `panpan serve --help` describes the flags";
    let config = config::load(file, std::env::vars_os(), &args.flags)
        .context(Hinted::new("cannot serve", hint))?;
    log::start(log::filter(&config.log.level), config.log.format);
    let runtime = super::runtime()?;
    let served = runtime.block_on(serve(&config));
    runtime.shutdown_background();
    served.map(|()| Status::Success)
}

async fn serve(config: &Config) -> anyhow::Result<()> {
    let tls = match &config.tls {
        Some(files) => Some(listen::acceptor(&files.certificate, &files.key).map_err(tls_error)?),
        None => None,
    };
    let backend = Backend::open_with(config);
    let backend = Arc::new(backend.map_err(|error| with_hint("cannot serve", error))?);
    // Before an MCP server is started, which a signal has to end.
    let signals = Signals::to_stop().context("cannot listen for signals")?;
    let drain = Duration::from_secs(config.drain_seconds);
    let shutdown = Shutdown::new("calls in flight", drain);
    tokio::spawn(shutdown.clone().on_signal(signals, backend.clone()));
    let refreshing = backend.refresh_tools(ServerSet::All);
    let Some(refreshed) = shutdown.started.run_until_cancelled(refreshing).await else {
        backend
            .run_and_drain(None, std::future::ready(()), Duration::default)
            .await;
        info("stopped before the server was ready");
        return Ok(());
    };
    refreshed.map_err(|error| with_hint("cannot serve", error))?;
    let anonymous = anonymous(config, &backend).await?;
    let listener = bind(config.listen).await?;
    let address = listener
        .local_addr()
        .context("cannot determine the address of the listener")?;
    let gateway = backend.gateway(anonymous, config.limits.clone());
    let router = router(gateway.clone(), settings(config), shutdown.started.clone());
    let reloading = tokio::spawn(reload::watch_sources(
        backend.clone(),
        config.sources.clone(),
    ));
    Banner {
        config,
        address,
        anonymous,
        operations: backend.operation_counts(),
        has_demo: backend.has_demo(),
        sources: &backend.describe_sources(),
    }
    .print();
    let started = shutdown.started.clone();
    let work = listen::serve(listener, tls, router, &gateway, started, shutdown.drain);
    let cut_off = backend
        .run_and_drain(Some(&gateway), work, || shutdown.left())
        .await;
    reloading.abort();
    if cut_off > 0 {
        let seconds = config.drain_seconds;
        warn(&format!(
            "{cut_off} connections were still open after {seconds} s and were closed"
        ));
    }
    info("stopped");
    Ok(())
}

/// Whether callers without a token are served: by default only on a loopback address.
async fn anonymous(config: &Config, backend: &Backend) -> anyhow::Result<Anonymous> {
    let allowed = config
        .allow_anonymous
        .unwrap_or(config.listen.ip().is_loopback());
    if allowed {
        return Ok(Anonymous::Served);
    }
    let has_tokens = backend
        .tokens()
        .any_valid()
        .await
        .context("cannot read the tokens")?;
    if has_tokens {
        return Ok(Anonymous::Refused);
    }
    let message = format!(
        "cannot serve on {}: callers need a token, and there are no tokens",
        config.listen
    );
    let hint = "create one with `panpan token new NAME`, or set --allow-anonymous to serve everyone who can connect";
    Err(Hinted::new(message, hint).into())
}

fn settings(config: &Config) -> HttpSettings {
    HttpSettings {
        hosts: hosts(config.listen.ip(), &config.hosts),
        origins: Origins(config.origins.clone()),
        tools: config.tools,
        passed_headers: config.sources.passed_headers(),
    }
}

/// The accepted host names of a server with this address and these configured names.
fn hosts(address: IpAddr, configured: &[String]) -> Hosts {
    if !configured.is_empty() {
        let own = (!address.is_unspecified()).then(|| in_url(address));
        let names = configured.iter().map(|host| without_port(host));
        return Hosts::Named(names.chain(own).collect());
    }
    match address.is_loopback() {
        true => Hosts::Loopback,
        // A page under another name has no token; serving without tokens is the operator's decision.
        false => Hosts::Any,
    }
}

/// A host without its port, and an IP address in the form that URLs use: requests are compared with it.
fn without_port(host: &str) -> String {
    if let Ok(address) = host.parse() {
        return in_url(address);
    }
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name.to_owned(),
        _ => host.to_owned(),
    }
}

fn in_url(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// Adds a hint to an error about the TLS files.
fn tls_error(error: TlsError) -> anyhow::Error {
    let hint = match &error {
        TlsError::Unreadable(..) => {
            "name files that this user may read with --tls-certificate and --tls-key"
        }
        TlsError::NoCertificate(_) | TlsError::NoKey(_) => {
            "both files have to be PEM files, with lines such as -----BEGIN CERTIFICATE-----"
        }
        TlsError::Unusable(..) => "name the private key that belongs to the certificate",
    };
    anyhow::Error::from(error).context(Hinted::new("cannot serve TLS", hint))
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    listen::bind(address).await.map_err(|error| {
        let hint = match &error {
            ListenError::Taken(_) => {
                "stop the other program, or choose another port: panpan serve --listen 127.0.0.1:7078"
            }
            ListenError::NotAllowed(_) => "choose a port above 1023",
            ListenError::NotHere(_) => {
                "listen on 127.0.0.1 for this machine only, or on 0.0.0.0 for all its addresses"
            }
            ListenError::Other(..) => "choose another address with --listen",
        };
        anyhow::Error::from(error).context(Hinted::new("cannot serve", hint))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_a_host_is_removed() {
        for (host, name) in [
            ("panpan.example.com", "panpan.example.com"),
            ("panpan.example.com:7077", "panpan.example.com"),
            ("192.0.2.1:80", "192.0.2.1"),
            ("2001:db8::1", "[2001:db8::1]"),
            ("[2001:db8::1]", "[2001:db8::1]"),
            ("[2001:db8::1]:80", "[2001:db8::1]"),
        ] {
            assert_eq!(without_port(host), name, "{host}");
        }
    }

    #[test]
    fn configured_names_are_accepted_besides_the_own_address() {
        let named = |names: &[&str]| Hosts::Named(names.iter().map(|it| (*it).into()).collect());
        for (address, given, expected) in [
            ("127.0.0.1", &[][..], Hosts::Loopback),
            ("192.0.2.1", &[], Hosts::Any),
            (
                "192.0.2.1",
                &["a.example"],
                named(&["a.example", "192.0.2.1"]),
            ),
            (
                "2001:db8::1",
                &["a.example"],
                named(&["a.example", "[2001:db8::1]"]),
            ),
            ("0.0.0.0", &["a.example:80"], named(&["a.example"])),
        ] {
            let given: Vec<String> = given.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(
                hosts(address.parse().unwrap(), &given),
                expected,
                "{address}"
            );
        }
    }
}
