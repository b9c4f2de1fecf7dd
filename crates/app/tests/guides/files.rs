//! A stub for the file server that the guides start with `npx`: one tool, which finds no file.
//!
//! `scripts/upstreams` tests the real server.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The stub. It exits unless its arguments are those of the guide.
const SCRIPT: &str = r#"#!/bin/sh
[ "$1 $2" = "-y @modelcontextprotocol/server-filesystem" ] && [ -n "$3" ] || exit 1
answer() { printf '{"jsonrpc":"2.0","id":%s,"%s":%s}\n' "$id" "$1" "$2"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *'"initialize"'*)
        answer result '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"files","version":"1"}}' ;;
    *'"tools/list"'*)
        answer result '{"tools":[{"name":"read_text_file","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}]}' ;;
    *'"tools/call"'*)
        text="ENOENT: no such file or directory, open '$3/missing.txt'"
        answer result '{"isError":true,"content":[{"type":"text","text":"'"$text"'"}]}' ;;
    *'"id"'*)
        answer error '{"code":-32601,"message":"there is no such method"}' ;;
    esac
done
"#;

/// Writes the stub into a folder and returns a PATH that finds it first.
pub(crate) fn on_path(folder: &Path) -> String {
    let programs = folder.join("programs");
    std::fs::create_dir_all(&programs).unwrap();
    let program = programs.join("npx");
    std::fs::write(&program, SCRIPT).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}", programs.display())
}
