//! The shutdown of a server: the first signal drains, the second exits at once, and SIGKILL loses no outcome.

use std::process::Stdio;
use std::thread;

use panpan_testkit::http::{self, Response};
use panpan_testkit::{Folder, Server, until};

fn wait_call(ms: u64, key: &str) -> String {
    format!(r#"{{"operation": "demo/wait", "input": {{"ms": {ms}}}, "idempotency_key": "{key}"}}"#)
}

/// Starts a slow call and waits until it is in flight.
fn start_call(server: &Server, ms: u64) -> thread::JoinHandle<Response> {
    let address = server.address.clone();
    let body = format!(r#"{{"operation": "demo/wait", "input": {{"ms": {ms}}}}}"#);
    let call = thread::spawn(move || http::request(&address, "POST", "/call", "", &body));
    server.until_running(1);
    call
}

#[test]
fn calls_in_flight_are_answered_before_the_server_ends() {
    for signal in ["TERM", "INT"] {
        let folder = Folder::new();
        let mut server = Server::start(&folder, &[]);
        let call = start_call(&server, 1000);
        server.signal(signal);
        let answer = call.join().unwrap();
        assert_eq!(answer.status, 200, "{signal}: {answer:?}");
        assert_eq!(answer.json()["output"]["waited_ms"], 1000);
        assert_eq!(server.wait_for_end(), Some(0), "{signal}");
        server.wait_for_line("stopping");
        server.wait_for_line("stopped");
    }
}

#[test]
fn the_second_signal_stops_at_once() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &[]);
    let body = r#"{"operation": "demo/wait", "input": {"ms": 600000}}"#;
    let _call = http::open(&server.address, "POST", "/call", "", body);
    server.until_running(1);
    server.signal("TERM");
    server.wait_for_line("stopping");
    server.signal("INT");
    assert_eq!(server.wait_for_end(), Some(130));
    server.wait_for_line("stopped at once");
}

#[test]
fn calls_that_exceed_the_drain_time_are_cut_off() {
    let folder = Folder::new();
    folder.file("panpan.toml", "drain_seconds = 1");
    let mut server = Server::start(&folder, &[]);
    let _calls = [
        wait_call(600_000, "k"),
        r#"{"operation": "demo/wait", "input": {"ms": 600000}}"#.to_owned(),
    ]
    .map(|body| http::open(&server.address, "POST", "/call", "", &body));
    server.until_running(2);
    server.signal("TERM");
    assert_eq!(server.wait_for_end(), Some(0));
    server.wait_for_line("2 connections were still open after 1 s");
    server.wait_for_line("calls with an idempotency key were still running");
}

#[test]
fn a_keyed_call_whose_caller_left_is_recorded_before_the_server_ends() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &[]);
    let body = wait_call(1000, "k");
    let call = http::open(&server.address, "POST", "/call", "", &body);
    server.until_running(1);
    drop(call);
    server.stop();
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
    server.stop();
    let mut server = Server::start(&folder, &[]);
    let second = server.order("k");
    assert!(second.is_replayed(), "{second:?}");
    assert_eq!(second.json()["output"], first.json()["output"]);

    let third = server.order("another");
    server.signal("KILL");
    assert_eq!(server.wait_for_end(), None);
    let server = Server::start(&folder, &[]);
    for (key, before) in [("k", &first), ("another", &third)] {
        let again = server.order(key);
        assert!(again.is_replayed(), "{again:?}");
        assert_eq!(again.json()["output"], before.json()["output"], "{key}");
    }
}

/// An MCP server that ignores the end of its input and starts another process in its own session.
const STUBBORN: &str = r#"
import json, os, subprocess, sys, time
blocked = [line for line in open("/proc/self/status") if line.startswith("SigBlk")][0].split()[1]
assert int(blocked, 16) == 0, blocked
other = subprocess.Popen(["sh", "-c", "trap '' HUP INT TERM; sleep 600"], start_new_session=True)
with open("pids.tmp", "w") as pids:
    pids.write(f"{os.getpid()} {other.pid}")
os.rename("pids.tmp", "pids")
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = {"tools": [{"name": "wait", "inputSchema": {"type": "object"}}]}
    if request["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    if request["method"] == "server/discover":
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
time.sleep(600)
"#;

#[test]
fn processes_of_an_mcp_server_end_with_panpan_even_after_sigkill() {
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
        server.wait_for_end();
        until("the end of what the server started", || {
            !pids.split(' ').any(runs)
        });
    }
}

#[test]
fn a_closed_stderr_does_not_stop_a_server() {
    use std::io::{BufRead, BufReader};
    let folder = Folder::new();
    let mut command = folder.panpan(&["serve", "--listen", "127.0.0.1:0"]);
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    // Closes the pipe after the first line.
    let read = BufReader::new(child.stderr.take().unwrap()).read_line(&mut line);
    read.unwrap();
    let mut server = Server::of(child, &line);
    let body = r#"{"operation": "demo/fail", "input": {"code": "ERR_TIMEOUT"}}"#;
    for _ in 0..2 {
        assert_eq!(server.call("", body).json()["code"], "ERR_TIMEOUT");
    }
    server.stop();
}

/// The process id of an MCP server that writes nothing and ignores the end of its input.
struct SilentServer(String);

impl SilentServer {
    const SCRIPT: &str = "echo $$ > pid.new; mv pid.new pid; sleep 600; :";

    /// Starts panpan with such a server.
    fn behind(folder: &Folder, command: &str) -> (Server, Self) {
        let flag = format!("--mcp-stdio=silent=sh -c '{}'", Self::SCRIPT);
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
fn a_signal_stops_a_server_that_waits_for_an_mcp_server() {
    let folder = Folder::new();
    let (mut server, silent) = SilentServer::behind(&folder, "serve");
    server.signal("TERM");
    assert_eq!(server.wait_for_end(), Some(0));
    let messages = String::from_utf8(server.output().stderr).unwrap();
    let stopped = "stopped before the server was ready";
    assert!(messages.contains(stopped), "{messages}");
    silent.until_ended();
}

#[test]
fn a_signal_to_panpan_mcp_kills_an_mcp_server_that_ignores_the_end_of_its_input() {
    let folder = Folder::new();
    let (mut program, silent) = SilentServer::behind(&folder, "mcp");
    program.signal("TERM");
    assert_eq!(program.wait_for_end(), Some(130));
    silent.until_ended();
}
