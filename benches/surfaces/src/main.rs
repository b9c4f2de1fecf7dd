//! The speed goals of the surfaces: the cost of a request at a panpan server, against a bare server that does the
//! same work; the start-up time of a server, its memory, and the latency it adds to a response.
//!
//! Every server is this same program in another role, so that all are built alike. The cost is the processor time
//! that the system counts for the server process; the load generator is another process.

mod figure;
mod idle;
mod load;
mod process;
mod ratio;
mod request;
mod serve;

use std::net::SocketAddr;
use std::process::ExitCode;

use process::Process;
use ratio::Ratio;
use request::Kind;
use serve::Role;

/// The width of the column of names.
const NAME_WIDTH: usize = 45;

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, role @ ..] = &arguments[..]
        && flag == serve::FLAG
    {
        serve::run(&Role::from_arguments(role)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let planted = arguments
        .iter()
        .any(|argument| argument == "--plant-slowdown");
    let part = arguments.iter().find(|argument| !argument.starts_with('-'));
    let met = measure(planted, part.map_or("", String::as_str))?;
    Ok(if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Measures the goals whose name contains this text; returns whether all were met. A slowdown is planted only in
/// ratios, and one missed goal is enough to detect it.
fn measure(planted: bool, part: &str) -> anyhow::Result<bool> {
    println!(
        "{:<NAME_WIDTH$} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "goal", "cpu", "a second", "baseline", "a second", "ratio", "limit"
    );
    let mut met = true;
    let echo = Process::start(&Role::Echo)?;
    let server = Process::start(&Role::Rmcp)?;
    let ratios = ratios(echo.address, server.address).into_iter();
    for ratio in ratios.filter(|it| it.name.contains(part)) {
        met &= ratio.measure(planted)?;
        if planted && !met {
            return Ok(false);
        }
    }
    if !planted {
        for figure in figure::all()
            .into_iter()
            .filter(|it| it.name.contains(part))
        {
            met &= figure.measure()?;
        }
    }
    Ok(met)
}

fn ratios(echo: SocketAddr, server: SocketAddr) -> [Ratio; 7] {
    let before_mcp = |name, kind, sessions| Ratio {
        name,
        limit: 1.5,
        kind,
        work: Role::McpGateway {
            upstream: server,
            sessions,
        },
        baseline: Role::McpProxy {
            upstream: server,
            sessions,
        },
    };
    [
        Ratio {
            name: "/call, against an axum handler",
            limit: 1.25,
            kind: Kind::Call,
            work: Role::panpan(),
            baseline: Role::Axum,
        },
        Ratio {
            name: "JSON-RPC, against jsonrpsee",
            limit: 1.0,
            kind: Kind::JsonRpc,
            work: Role::panpan(),
            baseline: Role::Jsonrpsee,
        },
        Ratio {
            name: "MCP 2026-07-28, against rmcp",
            limit: 1.15,
            kind: Kind::Mcp,
            work: Role::panpan(),
            baseline: Role::Rmcp,
        },
        Ratio {
            name: "MCP 2025-11-25 in a session, against rmcp",
            limit: 1.15,
            kind: Kind::McpSession,
            work: Role::panpan(),
            baseline: Role::Rmcp,
        },
        Ratio {
            name: "an imported operation, against axum and hyper",
            limit: 1.4,
            kind: Kind::Imported,
            work: Role::Gateway { upstream: echo },
            baseline: Role::PassThrough { upstream: echo },
        },
        before_mcp(
            "before an MCP server, against an rmcp proxy",
            Kind::Mcp,
            false,
        ),
        before_mcp(
            "the same in sessions, against an rmcp proxy",
            Kind::McpSession,
            true,
        ),
    ]
}
