//! The modules of the crate form no cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

type Uses = BTreeMap<String, BTreeSet<String>>;

/// The modules that each file or folder directly under `src` uses outside of its tests.
fn uses() -> Uses {
    let mut uses = Uses::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in fs::read_dir(source).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let is_module = path.is_dir() || path.extension().is_some_and(|end| end == "rs");
        if is_module && !["lib", "main", "tests", "oracle"].contains(&name.as_str()) {
            let text = text_of(&path);
            uses.insert(name, named_in(&text));
        }
    }
    let modules: BTreeSet<String> = uses.keys().cloned().collect();
    for (name, used) in &mut uses {
        used.retain(|other| modules.contains(other) && other != name);
    }
    uses
}

/// The code of a file, or of all files of a folder, up to their tests.
fn text_of(path: &Path) -> String {
    if path.is_dir() {
        return fs::read_dir(path).unwrap().map(|entry| text_of(&entry.unwrap().path())).collect();
    }
    let text = fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]").next().unwrap_or_default().to_owned()
}

/// What follows `crate::`, alone or as one of several in braces.
fn named_in(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split("crate::")
        .skip(1)
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(group) => group.split('}').next().unwrap_or_default().split(',').collect(),
            None => vec![rest],
        })
        .map(|path| path.trim().split(|c| !is_name(c)).next().unwrap_or_default().to_owned())
        .collect()
}

/// A way from a module back to itself.
fn cycle(uses: &Uses, way: &mut Vec<String>, done: &mut BTreeSet<String>) -> bool {
    let last = way.last().unwrap().clone();
    for next in &uses[&last] {
        if way.contains(next) {
            way.push(next.clone());
            return true;
        }
        if !done.contains(next) {
            way.push(next.clone());
            if cycle(uses, way, done) {
                return true;
            }
            way.pop();
        }
    }
    done.insert(last);
    false
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn modules_form_no_cycle() {
    let uses = uses();
    assert!(uses["session"].contains("plan"), "the code is read");
    let mut done = BTreeSet::new();
    for name in uses.keys() {
        let mut way = vec![name.clone()];
        assert!(!cycle(&uses, &mut way, &mut done), "{}", way.join(" -> "));
    }
}
