//! `panpan token`: creates, lists and revokes the tokens of callers.

mod expiry;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use anyhow::Context;
use panpan_failure::catalogue::nearest;
use panpan_redact::Redactor;
use panpan_runtime::ports::Clock;
use panpan_runtime::system::SystemClock;
use panpan_surfaces::identity::{NewToken, Revoked, TokenInfo, TokenState, Tokens};
use serde_json::{Value, json};

use self::expiry::Expiry;
use super::Status;
use super::error::{Hinted, did_you_mean, with_hint};
use crate::backend::Backend;
use crate::data_folder;
use crate::log::info;
use crate::store::StoreAddress;

/// The options of `panpan token`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  panpan token new ann --scope billing:call --expires 30d
  panpan token revoke ann")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
    /// The store with the tokens, the same as for `panpan serve`: sqlite:PATH or
    /// postgres://USER:PASSWORD@HOST:PORT/DATABASE [default: panpan.db in your data folder]
    // Not parsed by clap, whose message would repeat an invalid address with its password.
    #[arg(
        long,
        global = true,
        value_name = "ADDRESS",
        env = "PANPAN_STORE",
        hide_env_values = true
    )]
    store: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Create a token and print it once.
    New(New),
    /// List all tokens, including revoked and expired ones, without their secrets.
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token, or all tokens of a principal, at once.
    Revoke {
        /// The id of a token, or a principal
        #[arg(value_name = "ID|PRINCIPAL")]
        name: String,
    },
}

#[derive(Debug, clap::Args)]
struct New {
    /// The name of the person or program that calls; tokens with the same principal count as one caller
    principal: String,
    /// A scope of the token; can be repeated
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// A resource type the token may use, and an action on it; can be repeated
    #[arg(long = "resource", value_name = "TYPE[:ACTION]")]
    resources: Vec<String>,
    /// How long the token is valid (90m, 12h, 30d), or until when (2027-01-01) [default: until revoked]
    #[arg(long, value_name = "DURATION|DATE")]
    expires: Option<Expiry>,
    /// Print the token and its permissions as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand on the tokens in the store.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<Status> {
    let backend = Backend::open(&store(args.store.as_deref())?)
        .map_err(|error| with_hint("cannot read the tokens", error))?;
    let tokens = backend.tokens();
    super::runtime()?.block_on(async {
        match &args.command {
            Command::New(args) => create(&tokens, args, out).await,
            Command::List { json } => list(&tokens, *json, out).await,
            Command::Revoke { name } => revoke(&tokens, name).await,
        }
    })
}

fn store(address: Option<&str>) -> anyhow::Result<StoreAddress> {
    let address = data_folder::store_address(address)?;
    if address == StoreAddress::Memory {
        let hint =
            "omit --store, or name the store that `panpan serve` uses, such as --store sqlite:PATH";
        let message = "tokens in the store memory: would be lost when this command ends";
        return Err(Hinted::new(message, hint).into());
    }
    Ok(address)
}

async fn create(tokens: &Tokens, args: &New, out: &mut impl Write) -> anyhow::Result<Status> {
    let (token, created) = tokens
        .create(new_token(args)?)
        .await
        .context("cannot create the token")?;
    if args.json {
        let mut object = to_json(&created);
        object["token"] = token.expose().as_str().into();
        writeln!(out, "{object:#}")?;
    } else {
        writeln!(out, "{}", token.expose())?;
    }
    out.flush()?;
    info(&format!(
        "token {} of {}: {}",
        created.id,
        created.principal,
        permissions(&created)
    ));
    info("the token is not shown again; `panpan token revoke` revokes it");
    Ok(Status::Success)
}

fn new_token(args: &New) -> anyhow::Result<NewToken> {
    let now = SystemClock.now();
    let end = args.expires.map(|expires| expires.from(now)).transpose();
    let mut resources = BTreeMap::<String, BTreeSet<String>>::new();
    for resource in &args.resources {
        let (kind, action) = match resource.split_once(':') {
            Some((kind, action)) => (kind, Some(action)),
            None => (resource.as_str(), None),
        };
        let actions = resources.entry(kind.to_owned()).or_default();
        actions.extend(action.map(str::to_owned));
    }
    Ok(NewToken {
        principal: args.principal.clone(),
        scopes: args.scopes.iter().cloned().collect(),
        resources,
        expires_at: end.context("cannot use --expires")?,
    })
}

async fn list(tokens: &Tokens, json: bool, out: &mut impl Write) -> anyhow::Result<Status> {
    let all = tokens.list().await.context("cannot list the tokens")?;
    if json {
        writeln!(out, "{:#}", Value::from_iter(all.iter().map(to_json)))?;
        return Ok(Status::Success);
    }
    if all.is_empty() {
        info("there are no tokens; `panpan token new PRINCIPAL` creates one");
        return Ok(Status::Success);
    }
    writeln!(
        out,
        "{:<12}  {:<16}  {:<7}  PERMISSIONS",
        "ID", "PRINCIPAL", "STATE"
    )?;
    for token in &all {
        let (id, principal, state) = (&token.id, &token.principal, state(token).name());
        writeln!(
            out,
            "{id:<12}  {principal:<16}  {state:<7}  {}",
            permissions(token)
        )?;
    }
    Ok(Status::Success)
}

async fn revoke(tokens: &Tokens, name: &str) -> anyhow::Result<Status> {
    let revoked = tokens
        .revoke(name)
        .await
        .context("cannot revoke the token")?;
    match revoked {
        Revoked::Now(revoked) => {
            for TokenInfo { id, principal, .. } in &revoked {
                info(&format!("revoked token {id} of {principal}"));
            }
        }
        Revoked::Before(revoked) => {
            for token in &revoked {
                let (id, principal, time) = (&token.id, &token.principal, token.revoked_at);
                let when = time.map_or_else(String::new, |time| format!(" at {time}"));
                info(&format!(
                    "token {id} of {principal} was already revoked{when}"
                ));
            }
        }
        Revoked::Unknown => {
            let all = tokens.list().await.context("cannot list the tokens")?;
            return Ok(Status::Negative(unknown(name, &all)));
        }
    }
    Ok(Status::Success)
}

/// An unknown token, with the nearest names as a hint.
fn unknown(name: &str, all: &[TokenInfo]) -> Hinted {
    let names: BTreeSet<&str> = all
        .iter()
        .flat_map(|token| [token.id.as_str(), token.principal.as_str()])
        .collect();
    let hint = did_you_mean(
        &nearest(name, names),
        "`panpan token list` shows every token",
    );
    // The name may be most of a token.
    let name = Redactor::new().text(name).into_owned();
    Hinted::new(format!("no token has the id or principal {name:?}"), hint)
}

fn state(token: &TokenInfo) -> TokenState {
    token.state(SystemClock.now())
}

/// A token without its secret, as JSON.
fn to_json(token: &TokenInfo) -> Value {
    let mut object = json!(token);
    object["state"] = state(token).name().into();
    object
}

/// The permissions of a token and its expiry, on one line.
fn permissions(token: &TokenInfo) -> String {
    let scopes = token.scopes.iter().map(|scope| format!("scope {scope}"));
    let resources = token.resources.iter().flat_map(|(kind, actions)| {
        let bare = actions.is_empty().then(|| format!("resource {kind}"));
        let each = actions
            .iter()
            .map(move |action| format!("resource {kind}:{action}"));
        bare.into_iter().chain(each)
    });
    let granted: Vec<String> = scopes.chain(resources).collect();
    let granted = match granted.as_slice() {
        [] => "operations that need no scope".to_owned(),
        granted => granted.join(", "),
    };
    match token.expires_at {
        Some(end) => format!("{granted}, until {end}"),
        None => granted,
    }
}
