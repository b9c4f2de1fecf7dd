//! Reads what `strace` wrote: calls of several threads, some cut in two by those of others.
//!
//! The place of a line is its time. A call is seen to begin before the system does anything for it and
//! to end after that, so what ended on an earlier line was over before what began on a later one.

use std::collections::HashMap;

/// A call of the system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SystemCall {
    pub(crate) name: String,
    pub(crate) descriptor: u32,
    /// What the descriptor stands for.
    pub(crate) path: String,
    /// What is written, with unprintable bytes as the tracer shows them.
    pub(crate) data: String,
    pub(crate) began: usize,
    /// When it ended, if it ended well.
    pub(crate) ended: Option<usize>,
}

const UNFINISHED: &str = "<unfinished ...>";
const RESUMED: &str = "<... ";

/// Reads a whole trace; a line nobody can read is a defect of this reader.
pub(crate) fn read(trace: &str) -> Vec<SystemCall> {
    let mut calls: Vec<SystemCall> = Vec::new();
    let mut open = HashMap::new();
    for (place, line) in trace.lines().enumerate() {
        let (thread, said) = line.split_once(' ').unwrap_or((line, ""));
        let said = said.trim_start();
        // Signals, and ends of threads.
        if said.starts_with("---") || said.starts_with("+++") {
            continue;
        }
        if said.starts_with(RESUMED) {
            let call: Option<usize> = open.remove(thread);
            let call = call.unwrap_or_else(|| panic!("nothing was begun: {line}"));
            calls[call].ended = ended(said, place);
            continue;
        }
        let mut call = begun(said, place).unwrap_or_else(|| panic!("no call: {line}"));
        if said.ends_with(UNFINISHED) {
            open.insert(thread, calls.len());
        } else {
            call.ended = ended(said, place);
        }
        calls.push(call);
    }
    calls
}

/// `name(descriptor<path>, "data"…`, of which the data may be missing.
fn begun(said: &str, place: usize) -> Option<SystemCall> {
    let (name, arguments) = said.split_once('(')?;
    let (descriptor, rest) = arguments.split_once('<')?;
    let (path, rest) = rest.split_once('>')?;
    let data = rest.strip_prefix(", \"").map_or("", quoted);
    Some(SystemCall {
        name: name.to_owned(),
        descriptor: descriptor.parse().ok()?,
        path: path.to_owned(),
        data: data.to_owned(),
        began: place,
        ended: None,
    })
}

/// What stands before the quotation mark that is not written as data.
fn quoted(text: &str) -> &str {
    let mut escaped = false;
    let end = text.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    });
    &text[..end.unwrap_or(text.len())]
}

/// The place, if the call gave no error.
fn ended(said: &str, place: usize) -> Option<usize> {
    let (_, result) = said.rsplit_once(" = ")?;
    let result: i64 = result.split(' ').next()?.parse().ok()?;
    (result >= 0).then_some(place)
}

pub(crate) fn a_trace_is_read_whole_however_it_is_cut() {
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
