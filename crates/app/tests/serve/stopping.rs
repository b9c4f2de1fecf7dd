//! How a server ends: asked once it lets calls end, asked twice it does not, killed it loses nothing.

use std::process::Stdio;
use std::thread;

use crate::http::{self, Answer};
use crate::server::Server;
use crate::{Folder, until};

fn wait_call(ms: u64, key: &str) -> String {
    format!(r#"{{"operation": "demo/wait", "input": {{"ms": {ms}}}, "idempotency_key": "{key}"}}"#)
}

/// Begins a call that takes a while, and comes back when the server has it.
fn begin(server: &Server, ms: u64) -> thread::JoinHandle<Answer> {
    let address = server.address.clone();
    let body = format!(r#"{{"operation": "demo/wait", "input": {{"ms": {ms}}}}}"#);
    let asking = thread::spawn(move || http::request(&address, "POST", "/call", "", &body));
    server.until_running(1);
    asking
}

#[test]
fn calls_under_way_are_answered_before_the_server_ends() {
    for signal in ["TERM", "INT"] {
        let folder = Folder::new();
        let mut server = Server::start(&folder, &[]);
        let asking = begin(&server, 1000);
        server.signal(signal);
        let answer = asking.join().unwrap();
        assert_eq!(answer.status, 200, "{signal}: {answer:?}");
        assert_eq!(answer.json()["output"]["waited_ms"], 1000);
        assert_eq!(server.ended(), Some(0), "{signal}");
        server.hear("stopping");
        server.hear("stopped");
    }
}

#[test]
fn a_second_signal_stops_at_once() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &[]);
    let body = r#"{"operation": "demo/wait", "input": {"ms": 600000}}"#;
    let _asked = http::open(&server.address, "POST", "/call", "", body);
    server.until_running(1);
    server.signal("TERM");
    server.hear("stopping");
    server.signal("INT");
    assert_eq!(server.ended(), Some(130));
    server.hear("stopped at once");
}

#[test]
fn calls_that_take_longer_than_the_time_for_it_are_cut_off() {
    let folder = Folder::new();
    folder.file("panpan.toml", "drain_seconds = 1");
    let mut server = Server::start(&folder, &[]);
    let _asked = [
        wait_call(600_000, "k"),
        r#"{"operation": "demo/wait", "input": {"ms": 600000}}"#.to_owned(),
    ]
    .map(|body| http::open(&server.address, "POST", "/call", "", &body));
    server.until_running(2);
    server.signal("TERM");
    assert_eq!(server.ended(), Some(0));
    server.hear("2 connections were still open after 1 s");
    server.hear("calls with an idempotency key still ran");
}

#[test]
fn work_with_a_key_whose_caller_left_is_recorded_before_the_server_ends() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &[]);
    let body = wait_call(1000, "k");
    let asked = http::open(&server.address, "POST", "/call", "", &body);
    server.until_running(1);
    drop(asked);
    server.stopped();
    let server = Server::start(&folder, &[]);
    let answer = server.call("", &body);
    assert!(answer.is_replayed(), "{answer:?}");
}

#[test]
fn an_outcome_with_a_key_survives_a_restart() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &[]);
    let first = server.order("k");
    assert!(first.status == 200 && !first.is_replayed(), "{first:?}");
    server.stopped();
    let mut server = Server::start(&folder, &[]);
    let second = server.order("k");
    assert!(second.is_replayed(), "{second:?}");
    assert_eq!(second.json()["output"], first.json()["output"]);

    let third = server.order("another");
    server.signal("KILL");
    assert_eq!(server.ended(), None);
    let server = Server::start(&folder, &[]);
    for (key, before) in [("k", &first), ("another", &third)] {
        let again = server.order(key);
        assert!(again.is_replayed(), "{again:?}");
        assert_eq!(again.json()["output"], before.json()["output"], "{key}");
    }
}

/// An MCP server that ignores the end of its input, and starts a process of its own session that does too.
const STUBBORN: &str = r#"
import json, os, subprocess, sys, time
blocked = [line for line in open("/proc/self/status") if line.startswith("SigBlk")][0].split()[1]
assert int(blocked, 16) == 0, blocked
own = subprocess.Popen(["sh", "-c", "trap '' HUP INT TERM; sleep 600"], start_new_session=True)
with open("pids.tmp", "w") as pids:
    pids.write(f"{os.getpid()} {own.pid}")
os.rename("pids.tmp", "pids")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {"tools": [{"name": "wait", "inputSchema": {"type": "object"}}]}
    if asked["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    if asked["method"] == "server/discover":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
time.sleep(600)
"#;

#[test]
fn what_an_mcp_server_started_ends_with_the_program_even_when_that_is_killed() {
    for signal in ["TERM", "KILL"] {
        let folder = Folder::new();
        folder.file("stubborn.py", STUBBORN);
        let mut server = Server::start(&folder, &["--mcp-stdio", "s=python3 stubborn.py"]);
        let pids = std::fs::read_to_string(folder.0.join("pids")).unwrap();
        let runs = |pid: &str| {
            std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .is_ok_and(|it| !it.contains(") Z "))
        };
        assert!(pids.split(' ').all(runs), "{pids}");
        server.signal(signal);
        server.ended();
        until("the end of what the server started", || {
            !pids.split(' ').any(runs)
        });
    }
}

#[test]
fn a_server_whose_stderr_nobody_reads_any_more_goes_on() {
    use std::io::{BufRead, BufReader};
    let folder = Folder::new();
    let mut command = folder.panpan(&["serve", "--listen", "127.0.0.1:0"]);
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    // The pipe is closed when the first line was read.
    let read = BufReader::new(child.stderr.take().unwrap()).read_line(&mut line);
    read.unwrap();
    let mut server = Server::of(child, &line);
    let body = r#"{"operation": "demo/fail", "input": {"code": "ERR_TIMEOUT"}}"#;
    for _ in 0..2 {
        assert_eq!(server.call("", body).json()["code"], "ERR_TIMEOUT");
    }
    server.stopped();
}

/// The process of an MCP server that neither says anything nor minds that nobody listens.
struct Deaf(String);

impl Deaf {
    const SCRIPT: &str = "echo $$ > pid.new; mv pid.new pid; sleep 600; :";

    /// A program that waits for such a server, and the server.
    fn awaited_by(folder: &Folder, command: &str) -> (Server, Self) {
        let flag = format!("--mcp-stdio=deaf=sh -c '{}'", Self::SCRIPT);
        let mut started = folder.panpan(&[command, "--store=memory:", &flag]);
        let server = Server::of(started.stdin(Stdio::piped()).spawn().unwrap(), "");
        let pid = folder.0.join("pid");
        until("the MCP server", || pid.exists());
        (server, Self(std::fs::read_to_string(pid).unwrap()))
    }

    fn until_ended(&self) {
        let stat = format!("/proc/{}/stat", self.0.trim());
        until("the end of the MCP server", || {
            let stat = std::fs::read_to_string(&stat).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        });
    }
}

#[test]
fn a_server_that_waits_for_an_mcp_server_stops_when_it_is_asked_to() {
    let folder = Folder::new();
    let (mut server, deaf) = Deaf::awaited_by(&folder, "serve");
    server.signal("TERM");
    assert_eq!(server.ended(), Some(0));
    let said = String::from_utf8(server.output().stderr).unwrap();
    assert!(said.contains("stopped before it served anything"), "{said}");
    deaf.until_ended();
}

#[test]
fn an_mcp_server_that_does_not_mind_its_end_is_ended_by_who_leaves_at_once() {
    let folder = Folder::new();
    let (mut program, deaf) = Deaf::awaited_by(&folder, "mcp");
    program.signal("TERM");
    assert_eq!(program.ended(), Some(130));
    deaf.until_ended();
}
