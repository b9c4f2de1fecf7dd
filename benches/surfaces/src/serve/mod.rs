//! The servers under test, one in each process.

mod bare;
mod gateway;
mod mcp;
mod panpan;

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::bail;
use tokio::net::TcpListener;

/// The first argument of a server process.
pub(crate) const FLAG: &str = "--serve";

/// The server that a process runs.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// All of panpan, as its own command serves it.
    Panpan {
        /// The number of operations besides the built-in ones.
        operations: usize,
        /// The file of its store; without it, the store is in memory.
        store: Option<PathBuf>,
    },
    /// An axum handler that reads and writes the same as `/call`.
    Axum,
    /// A jsonrpsee method.
    Jsonrpsee,
    /// An rmcp tool.
    Rmcp,
    /// Returns the request body.
    Echo,
    /// All of panpan, with an operation that another server carries out.
    Gateway {
        /// The address of that server.
        upstream: SocketAddr,
    },
    /// All of panpan in front of an MCP server.
    McpGateway {
        /// The address of that server.
        upstream: SocketAddr,
        /// Whether to use sessions.
        sessions: bool,
    },
    /// An rmcp proxy in front of an MCP server.
    McpProxy {
        /// The address of that server.
        upstream: SocketAddr,
        /// Whether to use sessions.
        sessions: bool,
    },
    /// An axum handler that reads and writes the same, and calls the upstream with a hyper client.
    PassThrough {
        /// The address of the upstream.
        upstream: SocketAddr,
    },
}

impl Role {
    /// The role for measuring ratios, without a disk.
    pub(crate) fn panpan() -> Self {
        Self::Panpan {
            operations: 1,
            store: None,
        }
    }

    /// The command-line arguments for this role.
    pub(crate) fn to_arguments(&self) -> Vec<String> {
        let plain = |name: &str| vec![name.to_owned()];
        let before_mcp = |name: &str, upstream: &SocketAddr, sessions: &bool| {
            vec![name.to_owned(), upstream.to_string(), sessions.to_string()]
        };
        match self {
            Self::Panpan { operations, store } => {
                let store = store.iter().map(|path| path.display().to_string());
                let first = ["panpan".to_owned(), operations.to_string()];
                first.into_iter().chain(store).collect()
            }
            Self::Axum => plain("axum"),
            Self::Jsonrpsee => plain("jsonrpsee"),
            Self::Rmcp => plain("rmcp"),
            Self::Echo => plain("echo"),
            Self::Gateway { upstream } => vec!["gateway".to_owned(), upstream.to_string()],
            Self::McpGateway { upstream, sessions } => {
                before_mcp("mcp-gateway", upstream, sessions)
            }
            Self::McpProxy { upstream, sessions } => before_mcp("mcp-proxy", upstream, sessions),
            Self::PassThrough { upstream } => vec!["pass".to_owned(), upstream.to_string()],
        }
    }

    pub(crate) fn from_arguments(arguments: &[String]) -> anyhow::Result<Self> {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Ok(match arguments[..] {
            ["panpan", operations, ref store @ ..] => Self::Panpan {
                operations: operations.parse()?,
                store: store.first().map(PathBuf::from),
            },
            ["axum"] => Self::Axum,
            ["jsonrpsee"] => Self::Jsonrpsee,
            ["rmcp"] => Self::Rmcp,
            ["echo"] => Self::Echo,
            ["gateway", upstream] => Self::Gateway {
                upstream: upstream.parse()?,
            },
            ["mcp-gateway", upstream, sessions] => Self::McpGateway {
                upstream: upstream.parse()?,
                sessions: sessions.parse()?,
            },
            ["mcp-proxy", upstream, sessions] => Self::McpProxy {
                upstream: upstream.parse()?,
                sessions: sessions.parse()?,
            },
            ["pass", upstream] => Self::PassThrough {
                upstream: upstream.parse()?,
            },
            _ => bail!("unknown role: {arguments:?}"),
        })
    }
}

/// Serves until the parent process closes stdin.
pub(crate) fn run(role: &Role) -> anyhow::Result<()> {
    crate::idle::allow_many_files()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let served = runtime.spawn({
        let role = role.clone();
        async move {
            match role {
                Role::Panpan { operations, store } => panpan::serve(operations, store).await,
                Role::Axum => bare::axum().await,
                Role::Jsonrpsee => bare::jsonrpsee().await,
                Role::Rmcp => bare::rmcp().await,
                Role::Echo => gateway::echo().await,
                Role::Gateway { upstream } => gateway::panpan(upstream).await,
                Role::McpGateway { upstream, sessions } => mcp::panpan(upstream, sessions).await,
                Role::McpProxy { upstream, sessions } => mcp::proxy(upstream, sessions).await,
                Role::PassThrough { upstream } => gateway::pass_through(upstream).await,
            }
        }
    });
    std::io::stdin().read_to_end(&mut Vec::new())?;
    served.abort();
    runtime.shutdown_background();
    Ok(())
}

/// Listens at a free port and prints the address.
async fn listen() -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    tell(listener.local_addr()?)?;
    Ok(listener)
}

fn tell(address: SocketAddr) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{address}")?;
    Ok(stdout.flush()?)
}
