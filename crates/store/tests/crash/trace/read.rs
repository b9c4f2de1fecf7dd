//! Parses the output of `strace`: system calls of several threads, some split by calls of other threads.
//!
//! The line number is the time. The start of a call is logged before the system runs it, and its end
//! after that. So a call that ended on an earlier line was over before a call that started on a later line.

use std::collections::HashMap;

/// A system call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SystemCall {
    pub(crate) name: String,
    pub(crate) descriptor: u32,
    /// The file of the descriptor.
    pub(crate) path: String,
    /// The written data, with unprintable bytes as strace shows them.
    pub(crate) data: String,
    pub(crate) began: usize,
    /// The line where it ended, if it succeeded.
    pub(crate) ended: Option<usize>,
}

const UNFINISHED: &str = "<unfinished ...>";
const RESUMED: &str = "<... ";

/// Parses a whole trace; panics at a line that cannot be parsed.
pub(crate) fn read(trace: &str) -> Vec<SystemCall> {
    let mut calls: Vec<SystemCall> = Vec::new();
    let mut open = HashMap::new();
    for (position, line) in trace.lines().enumerate() {
        let (thread, text) = line.split_once(' ').unwrap_or((line, ""));
        let text = text.trim_start();
        // Signals, and ends of threads.
        if text.starts_with("---") || text.starts_with("+++") {
            continue;
        }
        if text.starts_with(RESUMED) {
            let call: Option<usize> = open.remove(thread);
            let call = call.unwrap_or_else(|| panic!("no unfinished call: {line}"));
            calls[call].ended = ended(text, position);
            continue;
        }
        let mut call = parse_start(text, position).unwrap_or_else(|| panic!("not a call: {line}"));
        if text.ends_with(UNFINISHED) {
            open.insert(thread, calls.len());
        } else {
            call.ended = ended(text, position);
        }
        calls.push(call);
    }
    calls
}

/// Parses `name(descriptor<path>, "data"…`; the data may be missing.
fn parse_start(text: &str, position: usize) -> Option<SystemCall> {
    let (name, arguments) = text.split_once('(')?;
    let (descriptor, rest) = arguments.split_once('<')?;
    let (path, rest) = rest.split_once('>')?;
    let data = rest.strip_prefix(", \"").map_or("", quoted);
    Some(SystemCall {
        name: name.to_owned(),
        descriptor: descriptor.parse().ok()?,
        path: path.to_owned(),
        data: data.to_owned(),
        began: position,
        ended: None,
    })
}

/// The text before the closing quotation mark.
fn quoted(text: &str) -> &str {
    let mut escaped = false;
    let end = text.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    });
    &text[..end.unwrap_or(text.len())]
}

/// The line, if the call succeeded.
fn ended(text: &str, position: usize) -> Option<usize> {
    let (_, result) = text.rsplit_once(" = ")?;
    let result: i64 = result.split(' ').next()?.parse().ok()?;
    (result >= 0).then_some(position)
}

pub(crate) fn a_trace_with_split_calls_is_parsed() {
    let trace = r#"12  write(1<pipe:[7]>, "a \"b\", c = 3\n", 11 <unfinished ...>
13  pwrite64(5</a/b-wal>, "\0\\", 2, 70072 <unfinished ...>
12  <... write resumed>)              = 11
14  --- SIGCHLD {si_signo=SIGCHLD} ---
13  <... pwrite64 resumed>)           = 2
14  fsync(5</a/b-wal>)                = -1 EIO (Input/output error)
13  fdatasync(5</a/b-wal> <unfinished ...>
14  +++ exited with 0 +++
13  <... fdatasync resumed>)          = ?
12  write(2</dev/null>, "x = 1"..., 99) = 99"#;
    let call = |name: &str, descriptor, path: &str, data: &str, began, ended| SystemCall {
        name: name.to_owned(),
        descriptor,
        path: path.to_owned(),
        data: data.to_owned(),
        began,
        ended,
    };
    let expected = [
        call("write", 1, "pipe:[7]", r#"a \"b\", c = 3\n"#, 0, Some(2)),
        call("pwrite64", 5, "/a/b-wal", r"\0\\", 1, Some(4)),
        call("fsync", 5, "/a/b-wal", "", 5, None),
        call("fdatasync", 5, "/a/b-wal", "", 6, None),
        call("write", 2, "/dev/null", "x = 1", 9, Some(9)),
    ];
    assert_eq!(read(trace), expected);
}
