//! Flags override variables, and variables override the file.

use panpan_testkit::{Folder, Server};

#[test]
fn flags_override_variables_and_variables_override_the_file() {
    let folder = Folder::new();
    folder.file(
        "panpan.toml",
        "listen = \"127.0.0.1:0\"\nstore = \"sqlite:file.db\"\n",
    );
    for (variable, flag, used) in [
        (None, None, "file.db"),
        (Some("sqlite:variable.db"), None, "variable.db"),
        (
            Some("sqlite:variable.db"),
            Some("sqlite:flag.db"),
            "flag.db",
        ),
    ] {
        let mut arguments = vec!["serve"];
        arguments.extend(flag.into_iter().flat_map(|flag| ["--store", flag]));
        let mut command = folder.panpan(&arguments);
        command.envs(variable.map(|variable| ("PANPAN_STORE", variable)));
        assert!(!folder.0.join(used).exists());
        let server = Server::run(&mut command);
        assert_eq!(server.order("k").status, 200);
        assert!(folder.0.join(used).exists(), "{variable:?} {flag:?}");
        server.wait_for_line(&format!("sqlite:{used}"));
    }
    assert!(!folder.data().exists());
}
