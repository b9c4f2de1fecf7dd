//! A private PostgreSQL server for tests: in a temporary folder, on loopback, without fsync.
//!
//! A small shell script starts the server and waits for commands on its stdin. When the test process ends, even by
//! a signal, the pipe closes, and the script stops the server and deletes the folder.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::process::{run, stderr, stdout, until};

/// Starts and stops the server; the first argument is the folder, the others are the command of the server.
const GUARD: &str = r#"
    trap '' INT
    folder=$1
    shift
    start() { "$@" >>"$folder/log" 2>&1 & server=$!; }
    stop() { kill -s INT "$server" 2>/dev/null; wait "$server"; }
    start "$@"
    while read -r word; do
        case $word in
            stop) stop; echo stopped ;;
            start) start "$@"; echo started ;;
        esac
    done
    stop
    rm -rf "$folder"
"#;

/// The user that runs the server if the tests run as root, which PostgreSQL refuses: `nobody`.
const UNPRIVILEGED: u32 = 65534;

/// The superuser.
const USER: &str = "panpan";

/// The password in the addresses of databases. The superuser needs none, because proving it takes long without
/// optimisations.
const PASSWORD: &str = "hunter2-of-tests";

/// Who may connect. Only `guarded`, which a test can create, has to prove a password.
const ACCESS: &str = "
    local all all trust
    host all guarded 127.0.0.1/32 scram-sha-256
    host all all 127.0.0.1/32 trust
";

/// A running server. It stops when the value is dropped, or when the process ends.
#[derive(Debug)]
pub struct PostgresServer {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
    guard: Mutex<Guard>,
}

#[derive(Debug)]
struct Guard {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl PostgresServer {
    /// The server that the tests of this process share.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<PostgresServer> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[]))
    }

    /// Starts another server with these settings, as `name=value`.
    pub fn start(settings: &[&str]) -> Self {
        Self::start_with(settings, &[])
    }

    /// Starts another server with these settings, and with these files in its data folder.
    pub fn start_with(settings: &[&str], files: &[(&str, &str)]) -> Self {
        let programs = programs();
        let folder = new_folder();
        init(&programs, &folder);
        for (name, content) in files {
            write_private(&folder.join("data").join(name), content);
        }
        let port = free_port();
        let mut server = unprivileged(&programs.join("postgres"));
        server.args(server_arguments(&folder, port, settings));
        let guard = Guard::start(&folder, &server);
        let server = Self {
            folder,
            programs,
            port,
            guard: Mutex::new(guard),
        };
        server.wait_until_ready();
        server
    }

    /// Creates an empty database and returns its address.
    pub fn new_database(&self) -> String {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("test_{}", COUNT.fetch_add(1, Ordering::SeqCst));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.address(USER, PASSWORD, &name)
    }

    /// The address of a database for a user.
    pub fn address(&self, user: &str, password: &str, database: &str) -> String {
        format!(
            "postgres://{user}:{password}@127.0.0.1:{}/{database}",
            self.port
        )
    }

    /// The password in the address of a new database.
    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    /// Runs SQL in a database as the superuser, and returns what it printed.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let output = run(&mut self.psql(database, sql), b"");
        assert!(output.status.success(), "{sql}: {}", stderr(&output));
        stdout(&output).trim().to_owned()
    }

    /// Stops the server and ends its connections.
    pub fn stop(&self) {
        self.command("stop");
    }

    /// Starts it again.
    pub fn start_again(&self) {
        self.command("start");
        self.wait_until_ready();
    }

    fn command(&self, word: &str) {
        let mut guard = self.guard.lock().unwrap();
        let stdin = guard.stdin.as_mut().unwrap();
        writeln!(stdin, "{word}").unwrap();
        let mut answer = String::new();
        guard.stdout.read_line(&mut answer).unwrap();
        assert!(answer.starts_with(word), "{answer}");
    }

    fn psql(&self, database: &str, sql: &str) -> Command {
        let mut command = Command::new(self.programs.join("psql"));
        let (folder, port) = (self.folder.to_str().unwrap(), self.port.to_string());
        command
            .args([
                "-X",
                "-q",
                "-A",
                "-t",
                "-v",
                "ON_ERROR_STOP=1",
                "-h",
                folder,
                "-p",
                &port,
            ])
            .args(["-U", USER, "-d", database, "-c", sql])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn wait_until_ready(&self) {
        until("the PostgreSQL server", || {
            let answered = run(&mut self.psql("postgres", "SELECT 1"), b"");
            let ended = self.guard.lock().unwrap().child.try_wait().unwrap();
            assert_eq!(ended, None, "{}", self.log());
            answered.status.success()
        });
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let guard = self.guard.get_mut().unwrap();
        drop(guard.stdin.take());
        let _ = guard.child.wait();
    }
}

impl Guard {
    fn start(folder: &Path, server: &Command) -> Self {
        let mut guard = Command::new("sh");
        guard
            .args(["-c", GUARD, "postgres-for-tests"])
            .arg(folder)
            .arg(server.get_program())
            .args(server.get_args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = guard.spawn().unwrap();
        Self {
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }
}

/// The folder with the programs of the newest PostgreSQL.
fn programs() -> PathBuf {
    let version = |path: &PathBuf| -> u32 {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.parse().ok()).unwrap_or(0)
    };
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let installed = installed.filter_map(|entry| Some(entry.ok()?.path()));
    let newest = installed.max_by_key(version).map(|path| path.join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = newest.into_iter().chain(std::env::split_paths(&path));
    let mut found =
        found.filter(|path| path.join("initdb").exists() && path.join("postgres").exists());
    found
        .next()
        .expect("PostgreSQL is not installed: run ./scripts/setup")
}

/// A new folder that the user of the server owns.
fn new_folder() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::SeqCst);
    let name = format!("panpan-postgres-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir(&folder).unwrap();
    give_away(&folder);
    folder
}

fn init(programs: &Path, folder: &Path) {
    let mut init = unprivileged(&programs.join("initdb"));
    init.arg("-D").arg(folder.join("data"));
    init.args(["-U", USER, "--no-sync", "--encoding=UTF8", "--locale=C"]);
    init.arg("--auth=trust");
    init.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output: Output = run(&mut init, b"");
    assert!(output.status.success(), "initdb: {}", stderr(&output));
    write_private(&folder.join("data/pg_hba.conf"), ACCESS);
}

fn server_arguments(folder: &Path, port: u16, settings: &[&str]) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let mut arguments = vec!["-D".to_owned(), format!("{folder}/data")];
    let own = [
        format!("port={port}"),
        "listen_addresses=127.0.0.1".to_owned(),
        format!("unix_socket_directories={folder}"),
        "fsync=off".to_owned(),
        "full_page_writes=off".to_owned(),
        "max_connections=200".to_owned(),
    ];
    let settings = settings.iter().map(|it| (*it).to_owned());
    arguments.extend(
        own.into_iter()
            .chain(settings)
            .flat_map(|it| ["-c".to_owned(), it]),
    );
    arguments
}

/// A port that no other process listens on now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A program as a user that PostgreSQL accepts.
fn unprivileged(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let user = UNPRIVILEGED.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    command.arg(program);
    command
}

/// Writes a file that only the user of the server can read.
fn write_private(path: &Path, content: &str) {
    fs::write(path, content).unwrap();
    give_away(path);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(path, mode).unwrap();
}

fn give_away(path: &Path) {
    if is_root() {
        let user = Some(UNPRIVILEGED);
        std::os::unix::fs::chown(path, user, user).unwrap();
    }
}

fn is_root() -> bool {
    let own = fs::metadata("/proc/self");
    own.is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0)
}
