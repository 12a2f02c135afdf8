//! What may know what: the layers of docs/architecture.md, held against the source text.
//!
//! The compiler lets any module of a crate import any other, so this reads the paths that start at the crate's root. It
//! is a reader of lines, not of Rust: a path that a macro puts together would escape it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The top modules of the library and their layers. A module may name its own layer's and lower modules, but siblings
/// of one layer don't know each other; `lib` names everything.
const LAYERS: [(&str, u8); 11] = [
    ("error", 0),
    ("config", 1),
    ("http", 1),
    ("rt", 2),
    ("net", 3),
    ("outbox", 4),
    ("session", 5),
    ("hub", 6),
    ("server", 7),
    ("testing", 8),
    ("lib", 9),
];

/// `http` and `rt` are of use without the rest and import none of it, not even from below.
const ALONE: [&str; 2] = ["http", "rt"];

/// Where `unsafe` may stand, each time beside the reason why it holds.
const UNSAFE: [&str; 11] = [
    "src/rt/fd.rs",
    "src/rt/green.rs",
    "src/rt/owned.rs",
    "src/rt/spawn.rs",
    "src/rt/stack.rs",
    "src/rt/start.rs",
    "src/rt/tests/child.rs",
    "src/rt/watchdog.rs",
    "ws/src/assembly.rs",
    "ws/src/text.rs",
    "tests/allocations.rs",
];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 6] = ["utils", "util", "helpers", "common", "misc", "types"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below `directory`, relative to the repository, in order; without what is built or installed.
fn files(directory: &str) -> Vec<String> {
    fn walk(directory: &Path, found: &mut BTreeSet<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name();
            let skipped = name.to_str().is_none_or(|name| {
                (name.starts_with('.') && name != ".ci") || matches!(name, "target" | "node_modules")
            });
            if skipped {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                walk(&entry.path(), found);
            } else {
                found.insert(entry.path());
            }
        }
    }
    let mut found = BTreeSet::new();
    walk(&root().join(directory), &mut found);
    found
        .iter()
        .map(|path| path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned())
        .collect()
}

fn rust_files() -> Vec<String> {
    ["src", "ws", "loadtest", "benches", "examples", "tests"]
        .into_iter()
        .flat_map(files)
        .filter(|path| path.ends_with(".rs") && path != "tests/layering.rs")
        .collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The text without comments; string literals stay, they don't matter here.
fn code(text: &str) -> String {
    let line = |line: &str| line.split_once("//").map_or(line, |(code, _)| code).to_owned();
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What follows each `word` that stands by itself.
fn after<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = &'t str> {
    text.match_indices(word)
        .filter(|(at, _)| !text[..*at].ends_with(is_word))
        .map(move |(at, _)| &text[at + word.len()..])
        .filter(|rest| !rest.starts_with(is_word))
}

/// The first segments of a path or of a group in braces, up to where it ends.
fn first_segments(rest: &str) -> Vec<String> {
    let Some(group) = rest.strip_prefix('{') else {
        return vec![rest.chars().take_while(|c| is_word(*c)).collect()];
    };
    let mut depth = 0;
    let mut segments = vec![String::new()];
    let mut in_first = true;
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                segments.push(String::new());
                in_first = true;
            }
            c if c.is_whitespace() => {}
            c if depth == 0 && in_first && is_word(c) => segments.last_mut().unwrap().push(c),
            _ => in_first = false,
        }
    }
    segments.retain(|segment| !segment.is_empty());
    segments
}

/// The top module that a source file belongs to and how many modules deep it lies.
fn module_of(path: &str) -> (&str, usize) {
    let inner = path.strip_prefix("src/").unwrap().strip_suffix(".rs").unwrap();
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    (inner.split('/').next().unwrap(), inner.split('/').count())
}

/// The top modules that a file names, through `crate::` or by enough `super::`.
fn named(path: &str, text: &str) -> BTreeSet<String> {
    let text = code(text);
    let (_, depth) = module_of(path);
    let to_the_root = "super::".repeat(depth);
    let by_crate = after(&text, "crate").filter_map(|rest| rest.strip_prefix("::"));
    let by_super =
        after(&text, to_the_root.strip_suffix("::").unwrap()).filter_map(|rest| rest.strip_prefix("::"));
    by_crate
        .chain(by_super)
        .flat_map(first_segments)
        .filter(|name| LAYERS.iter().any(|(module, _)| module == name))
        .collect()
}

fn layer(module: &str) -> u8 {
    let known = LAYERS.iter().find(|(name, _)| *name == module);
    known
        .unwrap_or_else(|| panic!("src/ has a module {module} that no layer is given for"))
        .1
}

/// What is wrong with the imports of one file.
fn faults(path: &str, text: &str) -> Vec<String> {
    let (module, _) = module_of(path);
    let own = layer(module);
    named(path, text)
        .into_iter()
        .filter(|other| other != module && (layer(other) >= own || ALONE.contains(&module)))
        .map(|other| {
            format!(
                "{path}: {module} (layer {own}) must not know {other} (layer {})",
                layer(&other)
            )
        })
        .collect()
}

fn nothing(faults: Vec<String>) {
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn modules_import_only_from_below() {
    let sources = files("src");
    assert!(sources.len() > 50, "the source is where this looks for it");
    nothing(
        sources
            .iter()
            .flat_map(|path| faults(path, &read(path)))
            .collect(),
    );
}

#[test]
fn an_upward_import_is_found_however_it_is_written() {
    for line in [
        "use crate::server::app::App;",
        "use crate::{error::Error, server::{app::App, handle}};",
        "pub(crate) use crate::server;",
        "fn f(app: &crate::server::app::App) {}",
        "use super::super::server::App;",
        "    $crate::server::app::run()",
    ] {
        let faults = faults("src/session/run.rs", line);
        assert_eq!(faults.len(), 1, "{line}: {faults:?}");
    }
    assert_eq!(faults("src/outbox.rs", "use super::session::Session;").len(), 1);
    assert_eq!(
        faults("src/rt/mod.rs", "use crate::error::Error;").len(),
        1,
        "rt stands alone"
    );
    assert_eq!(
        faults("src/config.rs", "use crate::http::Head;").len(),
        1,
        "siblings"
    );
    for line in [
        "// use crate::server::app::App;",
        "//! [`App`](crate::server::app::App)",
        "use crate::net::stream::Stream;",
        "use http::server;",
        "use super::server;",
    ] {
        nothing(faults("src/session/run.rs", line));
    }
}

#[test]
fn the_engine_is_named_in_rt_only() {
    let outside = |path: &&String| !path.starts_with("src/rt/");
    let names_it = |path: &&String| {
        let text = code(&read(path));
        after(&text, "may").any(|rest| rest.starts_with("::"))
    };
    nothing(
        rust_files()
            .iter()
            .filter(outside)
            .filter(names_it)
            .cloned()
            .collect(),
    );
    let manifests = ["ws/Cargo.toml", "loadtest/Cargo.toml", "benches/floor/Cargo.toml"];
    for path in manifests {
        assert!(read(path).lines().all(|line| !line.starts_with("may")), "{path}");
    }
}

#[test]
fn unsafe_stands_in_few_files_only() {
    let has_unsafe = |path: &String| {
        let text = code(&read(path));
        let found =
            after(&text, "unsafe").any(|rest| rest.trim_start().starts_with(['{', 'f', 'i', 'e', 't']));
        found || text.contains("allow(unsafe_code")
    };
    let found: Vec<String> = rust_files().into_iter().filter(has_unsafe).collect();
    let listed: Vec<String> = UNSAFE.map(String::from).into();
    assert_eq!(
        found, listed,
        "files with unsafe code, and those that may have it"
    );
}

#[test]
fn the_websocket_protocol_does_no_io_and_reads_no_clock() {
    for path in files("ws/src") {
        let text = code(&read(&path));
        for word in ["std::io", "std::fs", "std::time", "std::thread", "TcpStream"] {
            assert!(!text.contains(word), "{path} names {word}");
        }
    }
}

#[test]
fn the_load_tool_does_not_know_the_server() {
    let manifest = read("loadtest/Cargo.toml");
    assert!(manifest.lines().all(|line| !line.starts_with("greenroom =")));
}

#[test]
fn file_names_say_what_is_inside() {
    let says_nothing = |path: &String| {
        let path = Path::new(path);
        path.components()
            .filter_map(|part| Path::new(part.as_os_str()).file_stem()?.to_str())
            .any(|name| EMPTY_NAMES.contains(&name))
    };
    nothing(files("").into_iter().filter(says_nothing).collect());
}

#[test]
fn no_file_names_a_path_of_somebodys_machine() {
    let places = ["home", "root", "Users", "work", "tmp"].map(|place| format!("/{place}/"));
    let mut found = Vec::new();
    for path in files("") {
        // Pictures and the like have no text to look at.
        let Ok(text) = fs::read_to_string(root().join(&path)) else {
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            let named = |place: &String| {
                line.match_indices(place.as_str())
                    .any(|(at, _)| !line[..at].ends_with(|c: char| is_word(c) || ".-}$@)".contains(c)))
            };
            if places.iter().any(named) {
                found.push(format!("{path}:{}: {line}", number + 1));
            }
        }
    }
    nothing(found);
}
