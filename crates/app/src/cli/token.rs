//! `panpan token`: makes, lists and revokes what callers prove themselves with.

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
use super::Done;
use super::error::Hinted;
use crate::backend::Backend;
use crate::place;
use crate::store::StoreAddress;
use crate::terminal::tell;

/// What to do with tokens.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
    /// The store the tokens are kept in, the same that `panpan serve` uses: sqlite:PATH. Without it,
    /// panpan.db in your folder for data.
    // Read here and not by the parser, which would repeat an address it refuses, password and all.
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
    /// Make a token and print it, this once.
    New(New),
    /// List the tokens there are and were, without their secrets.
    List(List),
    /// Make a token, or all tokens of a principal, invalid at once.
    Revoke(Revoke),
}

#[derive(Debug, clap::Args)]
struct New {
    /// Who is to call with it: a name for a person or a program. Tokens of one principal are one caller.
    principal: String,
    /// A scope it has; may be given several times
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// A type of resource it may use and what it may do with it; may be given several times
    #[arg(long = "resource", value_name = "TYPE[:ACTION]")]
    resources: Vec<String>,
    /// How long it is valid (90m, 12h, 30d), or until when (2027-01-01); without it, until it is revoked
    #[arg(long, value_name = "LENGTH|TIME")]
    expires: Option<Expiry>,
    /// Print JSON: the token and what it may do
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Revoke {
    /// The id of a token, or a principal
    #[arg(value_name = "ID|PRINCIPAL")]
    name: String,
}

/// Does what was asked with the tokens of the store.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<Done> {
    let backend = Backend::open(&store(args.store.as_deref())?)
        .context(Hinted::new("cannot get at the tokens", place::HINT))?;
    let tokens = backend.tokens();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the thread that asks the store")?;
    runtime.block_on(async {
        match &args.command {
            Command::New(args) => create(&tokens, args, out).await,
            Command::List(args) => list(&tokens, args, out).await,
            Command::Revoke(args) => revoke(&tokens, args).await,
        }
    })
}

fn store(named: Option<&str>) -> anyhow::Result<StoreAddress> {
    let address = place::store_at(named)?;
    if address == StoreAddress::Memory {
        let hint =
            "leave --store out, or name the file that `panpan serve` uses: --store sqlite:PATH";
        return Err(Hinted::new(
            "tokens kept in memory: would be gone when this command ends",
            hint,
        )
        .into());
    }
    Ok(address)
}

async fn create(tokens: &Tokens, args: &New, out: &mut impl Write) -> anyhow::Result<Done> {
    let (token, info) = tokens
        .create(asked(args)?)
        .await
        .context("cannot make the token")?;
    if args.json {
        let mut told = shown(&info);
        told["token"] = token.expose().as_str().into();
        writeln!(out, "{told:#}")?;
    } else {
        writeln!(out, "{}", token.expose())?;
    }
    out.flush()?;
    tell(&format!(
        "token {} of {}: {}",
        info.id,
        info.principal,
        powers(&info)
    ));
    tell("it is not shown again; `panpan token revoke` ends it");
    Ok(Done::Yes)
}

fn asked(args: &New) -> anyhow::Result<NewToken> {
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
        expires_at: end.context("cannot tell when the token ends (--expires)")?,
    })
}

async fn list(tokens: &Tokens, args: &List, out: &mut impl Write) -> anyhow::Result<Done> {
    let all = tokens.list().await.context("cannot list the tokens")?;
    if args.json {
        writeln!(out, "{:#}", Value::from_iter(all.iter().map(shown)))?;
        return Ok(Done::Yes);
    }
    if all.is_empty() {
        tell("there are no tokens; `panpan token new PRINCIPAL` makes one");
        return Ok(Done::Yes);
    }
    writeln!(
        out,
        "{:<12}  {:<16}  {:<7}  MAY",
        "ID", "PRINCIPAL", "STATE"
    )?;
    for token in &all {
        let (id, principal, state) = (&token.id, &token.principal, state(token).name());
        writeln!(
            out,
            "{id:<12}  {principal:<16}  {state:<7}  {}",
            powers(token)
        )?;
    }
    Ok(Done::Yes)
}

async fn revoke(tokens: &Tokens, args: &Revoke) -> anyhow::Result<Done> {
    let revoked = tokens.revoke(&args.name).await.context("cannot revoke")?;
    match revoked {
        Revoked::Now(ended) => ended.iter().for_each(|token| {
            tell(&format!(
                "revoked token {} of {}",
                token.id, token.principal
            ));
        }),
        Revoked::Before(ended) => ended.iter().for_each(|token| {
            let when = token
                .revoked_at
                .map_or_else(String::new, |time| format!(" at {time}"));
            tell(&format!(
                "token {} of {} was revoked before{when}",
                token.id, token.principal
            ));
        }),
        Revoked::Unknown => {
            let all = tokens.list().await.context("cannot list the tokens")?;
            return Ok(Done::No(unknown(&args.name, &all)));
        }
    }
    Ok(Done::Yes)
}

/// Says that there is no such token, and which names come near.
fn unknown(asked: &str, all: &[TokenInfo]) -> Hinted {
    let names: BTreeSet<&str> = all
        .iter()
        .flat_map(|token| [token.id.as_str(), token.principal.as_str()])
        .collect();
    let list = "`panpan token list` shows every token";
    let hint = match nearest(asked, names).as_slice() {
        [] => list.to_owned(),
        near => format!("did you mean {}? {list}", near.join(", ")),
    };
    // What was asked for may be most of a token.
    let asked = Redactor::new().text(asked).into_owned();
    Hinted::new(
        format!("no token has the id or the principal {asked:?}"),
        hint,
    )
}

fn state(token: &TokenInfo) -> TokenState {
    token.state(SystemClock.now())
}

/// What is told of a token, as JSON.
fn shown(token: &TokenInfo) -> Value {
    let mut shown = json!(token);
    shown["state"] = state(token).name().into();
    shown
}

/// What a token may do and until when, on one line.
fn powers(token: &TokenInfo) -> String {
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
        [] => "what needs no scope".to_owned(),
        granted => granted.join(", "),
    };
    match token.expires_at {
        Some(end) => format!("{granted}, until {end}"),
        None => granted,
    }
}
