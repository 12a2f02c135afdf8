//! The table of settings in the README is the one that the program reads its environment by.
//!
//! `UPDATE_README=1 cargo test --test settings` writes it anew.

use greenroom::VARIABLES;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

const BEGIN: &str = "<!-- settings -->\n";
const END: &str = "<!-- /settings -->";

fn at_root(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn table() -> String {
    let mut table = String::from("| variable | default | accepts | what it does |\n|---|---|---|---|\n");
    for variable in VARIABLES {
        let cells = [variable.default, variable.accepts, variable.meaning];
        assert!(
            cells.iter().all(|cell| !cell.contains(['|', '\n'])),
            "{}",
            variable.name
        );
        writeln!(
            table,
            "| `{}` | {} | {} | {} |",
            variable.name, variable.default, variable.accepts, variable.meaning
        )
        .unwrap();
    }
    table
}

/// What stands before, between and behind the marks.
fn parts(text: &str) -> (&str, &str, &str) {
    let begin = text.find(BEGIN).expect("the README has a place for the settings") + BEGIN.len();
    let length = text[begin..].find(END).expect("the place ends");
    (
        &text[..begin],
        &text[begin..begin + length],
        &text[begin + length..],
    )
}

#[test]
fn the_readme_lists_every_variable_as_it_is() {
    let readme = at_root("README.md");
    let text = fs::read_to_string(&readme).unwrap();
    let (before, between, behind) = parts(&text);
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(&readme, format!("{before}{}{behind}", table())).unwrap();
        return;
    }
    assert_eq!(between, table(), "UPDATE_README=1 cargo test --test settings");
}

#[test]
fn variables_have_a_name_of_their_own() {
    let mut names: Vec<_> = VARIABLES.iter().map(|variable| variable.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), VARIABLES.len());
}

#[test]
fn every_setting_says_its_default_and_why() {
    let source = fs::read_to_string(at_root("src/config.rs")).unwrap();
    let start = source.find("pub struct Config {").unwrap();
    let body = &source[start..start + source[start..].find("\n}").unwrap()];
    let mut said = String::new();
    let mut fields = 0;
    for line in body.lines().skip(1) {
        let line = line.trim();
        if let Some(text) = line.strip_prefix("///") {
            said.push_str(text);
        } else if let Some(field) = line.strip_prefix("pub ") {
            let sentences = said.matches(['.', ':']).count();
            assert!(
                said.contains("Default ") || said.contains("Default:"),
                "{field} has no default: {said}"
            );
            assert!(sentences >= 2, "{field}: {said}");
            said.clear();
            fields += 1;
        }
    }
    // The whole struct was read.
    assert_eq!(
        fields,
        format!("{:#?}", greenroom::Config::default()).lines().count() - 2
    );
}

#[test]
fn the_behaviour_names_every_variable() {
    let text = fs::read_to_string(at_root("docs/behaviour.md")).unwrap();
    for variable in VARIABLES {
        assert!(
            text.contains(variable.name),
            "docs/behaviour.md does not name {}",
            variable.name
        );
    }
}
