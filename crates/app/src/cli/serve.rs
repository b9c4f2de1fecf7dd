//! `panpan serve`: operations behind one service, for every protocol.

mod greeting;
mod stop;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use panpan_surfaces::http::{Hosts, HttpSettings, Origins, router};
use panpan_surfaces::listen::{self, ListenError, TlsError};
use panpan_surfaces::{Anonymous, Gateway};
use tokio::net::TcpListener;

use self::greeting::Greeting;
use self::stop::Stop;
use super::Done;
use super::error::{Hinted, hinted};
use crate::backend::{Backend, Whom};
use crate::config::{self, Config, Flags};
use crate::terminal::{self, Signals, tell, warn};
use crate::{library, reload};

/// Serves operations over MCP, HTTP, JSON-RPC and WebSocket.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    flags: Flags,
}

/// Serves until a signal comes.
pub(super) fn run(args: &Args) -> anyhow::Result<Done> {
    let file = args.flags.config.as_deref();
    let hint = "`panpan serve --help` says what can be set; nothing has to be";
    let config = config::load(file, std::env::vars_os(), &args.flags)
        .context(Hinted::new("cannot serve", hint))?;
    terminal::log_to_stderr(terminal::own(&config.log.level), config.log.format);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads that serve calls")?;
    let served = runtime.block_on(serve(&config));
    runtime.shutdown_background();
    served.map(|()| Done::Yes)
}

async fn serve(config: &Config) -> anyhow::Result<()> {
    let tls = match &config.tls {
        Some(files) => Some(listen::acceptor(&files.certificate, &files.key).map_err(no_tls)?),
        None => None,
    };
    let backend = Backend::open_with(config);
    let backend = Arc::new(backend.map_err(|error| hinted("cannot serve", error))?);
    // Before a server is started that would have to be ended.
    let signals = Signals::heard().context("cannot hear when it is asked to stop")?;
    let stop = Stop::new(Duration::from_secs(config.drain_seconds));
    tokio::spawn(stop.clone().on_signal(signals, backend.clone()));
    let asking = backend.ask_servers(Whom::All);
    let Some(asked) = stop.begun.run_until_cancelled(asking).await else {
        backend
            .kept_while(std::future::ready(()), Duration::default)
            .await;
        tell("stopped before it served anything");
        return Ok(());
    };
    asked.map_err(|error| hinted("cannot serve", error))?;
    let anonymous = anonymous(config, &backend).await?;
    let listener = bind(config.listen).await?;
    let address = listener
        .local_addr()
        .context("cannot tell where it listens")?;
    let gateway = Gateway::new(
        backend.dispatcher().clone(),
        backend.tokens(),
        anonymous,
        config.limits.clone(),
    );
    library::lend(&gateway, &backend);
    let router = router(gateway.clone(), settings(config), stop.begun.clone());
    let reloading = tokio::spawn(reload::keep_up(backend.clone(), config.sources.clone()));
    Greeting {
        config,
        address,
        anonymous,
        operations: backend.dispatcher().registry().operations().count(),
        has_demo: backend.has_demo(),
        about_sources: &backend.about_sources(),
    }
    .say();
    let begun = stop.begun.clone();
    let work = listen::serve(listener, tls, router, &gateway, begun, stop.drain);
    let cut_off = backend.kept_while(work, || stop.left()).await;
    reloading.abort();
    if cut_off > 0 {
        let seconds = config.drain_seconds;
        warn(&format!(
            "{cut_off} connections were still open after {seconds} s and were cut off"
        ));
    }
    tell("stopped");
    Ok(())
}

/// A server that others can reach answers only callers it knows, unless it is told otherwise.
async fn anonymous(config: &Config, backend: &Backend) -> anyhow::Result<Anonymous> {
    let allowed = config
        .allow_anonymous
        .unwrap_or(config.listen.ip().is_loopback());
    if allowed {
        return Ok(Anonymous::Served);
    }
    let known = backend
        .tokens()
        .any_valid()
        .await
        .context("cannot look for tokens")?;
    if known {
        return Ok(Anonymous::Refused);
    }
    let message = format!(
        "nobody could call a server on {}: there are no tokens",
        config.listen
    );
    let hint = "make one with `panpan token new NAME`, or say --allow-anonymous to serve everyone who can reach it";
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

/// The names of a server that listens on this address and is also called so.
fn hosts(address: IpAddr, named: &[String]) -> Hosts {
    if !named.is_empty() {
        let own = (!address.is_unspecified()).then(|| in_url(address));
        let named = named.iter().map(|host| name_of(host));
        return Hosts::Named(named.chain(own).collect());
    }
    match address.is_loopback() {
        true => Hosts::Loopback,
        // A page under a foreign name has no token; without tokens its operator said so.
        false => Hosts::Any,
    }
}

/// A host as requests are compared with it: without its port, an address as it stands in a URL.
fn name_of(host: &str) -> String {
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

/// What is wrong with the files TLS is served with.
fn no_tls(error: TlsError) -> anyhow::Error {
    let hint = match &error {
        TlsError::Unreadable(..) => {
            "name files that this user may read with --tls-certificate and --tls-key"
        }
        TlsError::NoCertificate(_) | TlsError::NoKey(_) => {
            "both files are texts with lines such as -----BEGIN CERTIFICATE-----"
        }
        TlsError::Unusable(..) => "name the key that the certificate was made for",
    };
    anyhow::Error::from(error).context(Hinted::new("cannot serve TLS", hint))
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    listen::bind(address).await.map_err(|error| {
        let hint = match &error {
            ListenError::Taken(_) => {
                "stop it, or choose another port: panpan serve --listen 127.0.0.1:7078"
            }
            ListenError::NotAllowed(_) => "choose a port above 1023",
            ListenError::NotHere(_) => {
                "listen on 127.0.0.1 for this machine only, or on 0.0.0.0 for every address it has"
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
    fn a_host_is_known_by_its_name_alone() {
        for (host, name) in [
            ("panpan.example.com", "panpan.example.com"),
            ("panpan.example.com:7077", "panpan.example.com"),
            ("192.0.2.1:80", "192.0.2.1"),
            ("2001:db8::1", "[2001:db8::1]"),
            ("[2001:db8::1]", "[2001:db8::1]"),
            ("[2001:db8::1]:80", "[2001:db8::1]"),
        ] {
            assert_eq!(name_of(host), name, "{host}");
        }
    }

    #[test]
    fn names_come_beside_the_address_that_is_listened_on() {
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
