//! Goals that are single numbers: the start-up time of a server, its memory, and the latency it adds to a
//! response.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::load::{Connection, Load};
use crate::process::Process;
use crate::request::Kind;
use crate::serve::Role;
use crate::{NAME_WIDTH, idle, load, ratio};

/// The number of operations for the start-up time.
const OPERATIONS: usize = 1000;

/// The number of starts.
const STARTS: usize = 9;

/// The number of calls over each protocol before memory is measured.
const CALLS: usize = 4000;

/// The number of sequential requests for the added latency.
const ANSWERS: usize = 3000;

/// A number with a limit.
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    unit: &'static str,
    limit: f64,
    find: fn() -> anyhow::Result<f64>,
}

/// All figures.
pub(crate) fn all() -> [Figure; 5] {
    [
        Figure {
            name: "from start to ready, 1,000 operations",
            unit: "ms",
            limit: 150.0,
            find: ready,
        },
        Figure {
            name: "memory of an idle server after start",
            unit: "MB",
            limit: 40.0,
            find: || after_calls(&[]),
        },
        Figure {
            name: "memory of an idle server, after 16,000 calls",
            unit: "MB",
            limit: 40.0,
            find: || after_calls(&[Kind::Call, Kind::JsonRpc, Kind::Mcp, Kind::McpSession]),
        },
        Figure {
            name: "memory with 10,000 idle WebSockets",
            unit: "MB",
            limit: 400.0,
            find: with_websockets,
        },
        Figure {
            name: "added latency of an imported operation",
            unit: "ms",
            limit: 0.5,
            find: added_by_the_gateway,
        },
    ]
}

impl Figure {
    /// Measures the number; returns whether it is within its limit.
    pub(crate) fn measure(&self) -> anyhow::Result<bool> {
        let found = (self.find)().with_context(|| self.name)?;
        let (shown, limit) = (format!("{found:.1} {}", self.unit), self.limit);
        println!("{:<NAME_WIDTH$} {shown:>49} {limit:>9}", self.name);
        Ok(found <= limit)
    }
}

/// The time from the start of a process until `/readyz` answers.
fn ready() -> anyhow::Result<f64> {
    let runtime = load::runtime()?;
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let folder = Folder::new()?;
        let begun = Instant::now();
        let process = Process::start(&folder.role(OPERATIONS))?;
        runtime.block_on(until_ready(&process))?;
        times.push(begun.elapsed());
    }
    Ok(ratio::median(&times).as_secs_f64() * 1e3)
}

async fn until_ready(process: &Process) -> anyhow::Result<()> {
    let address = process.address;
    let request = format!("GET /readyz HTTP/1.1\r\nhost: {address}\r\n\r\n");
    let ready = async {
        let mut connection = Connection::open(address).await?;
        while connection.exchange(request.as_bytes()).await.is_err() {
            connection = Connection::open(address).await?;
        }
        anyhow::Ok(())
    };
    let patience = Duration::from_secs(20);
    tokio::time::timeout(patience, ready)
        .await
        .context("the server did not become ready")?
}

/// The memory of a server that has answered calls of these kinds and has no connection left.
fn after_calls(kinds: &[Kind]) -> anyhow::Result<f64> {
    let folder = Folder::new()?;
    let process = Process::start(&folder.role(1))?;
    load::runtime()?.block_on(until_ready(&process))?;
    for kind in kinds {
        Load::connect(process.address, *kind)?.ask(CALLS)?;
    }
    process.resident_mb()
}

fn with_websockets() -> anyhow::Result<f64> {
    let folder = Folder::new()?;
    let process = Process::start(&folder.role(1))?;
    let runtime = load::runtime()?;
    runtime.block_on(until_ready(&process))?;
    let _open = runtime.block_on(idle::websockets(process.address))?;
    process.resident_mb()
}

/// The difference between the median latency through panpan and that of direct requests. The requests are
/// sequential and alternate.
fn added_by_the_gateway() -> anyhow::Result<f64> {
    let echo = Process::start(&Role::Echo)?;
    let gateway = Process::start(&Role::Gateway {
        upstream: echo.address,
    })?;
    load::runtime()?.block_on(async {
        let mut direct = Asking::begin(&echo, Kind::Upstream).await?;
        let mut through = Asking::begin(&gateway, Kind::Imported).await?;
        for _ in 0..ANSWERS {
            direct.ask().await?;
            through.ask().await?;
        }
        Ok((through.median() - direct.median()) * 1e3)
    })
}

/// A client that sends sequential requests and measures their latency.
struct Asking {
    connection: Connection,
    request: Vec<u8>,
    times: Vec<Duration>,
}

impl Asking {
    async fn begin(process: &Process, kind: Kind) -> anyhow::Result<Self> {
        let mut connection = Connection::open(process.address).await?;
        let request = kind.prepare(&mut connection, process.address).await?;
        connection.exchange(&request).await?;
        kind.check(connection.body())?;
        Ok(Self {
            connection,
            request,
            times: Vec::new(),
        })
    }

    async fn ask(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        self.connection.exchange(&self.request).await?;
        self.times.push(begun.elapsed());
        Ok(())
    }

    fn median(&self) -> f64 {
        ratio::median(&self.times).as_secs_f64()
    }
}

/// A folder for the store of one server, removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("panpan-bench-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&path).context("cannot create a folder for the store")?;
        Ok(Self(path))
    }

    fn role(&self, operations: usize) -> Role {
        Role::Panpan {
            operations,
            store: Some(self.0.join("panpan.db")),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If this fails, the folder stays in the temporary directory.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
