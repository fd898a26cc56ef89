#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use super::{FileCause, Loaded, manifests, policies, served_policies};
#[cfg(feature = "streams")]
use super::{Reading, SourceText, inputs};

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

/// What resource arguments mean, without its texts.
#[cfg(feature = "streams")]
fn resources<S: AsRef<str>>(arguments: &[S], reading: Reading) -> Loaded {
    let (inputs, notices) = inputs(arguments, &reading);
    let named = inputs.into_iter().map(|input| SourceText { name: input.name, text: String::new() });
    Loaded { sources: named.collect(), notices, ..Loaded::default() }
}

fn names(loaded: &Loaded, root: &Path) -> Vec<String> {
    let prefix = format!("{}/", root.display());
    loaded.sources.iter().map(|s| s.name.strip_prefix(&prefix).unwrap_or(&s.name).to_string()).collect()
}

fn causes(loaded: &Loaded) -> Vec<FileCause> {
    loaded.notices.iter().map(|n| n.cause).collect()
}

#[test]
fn policy_directories_are_walked_in_name_order_without_dot_entries() {
    let root = tree(&[
        ("b.yaml", "b: 1"),
        ("a/z.yml", "z: 1"),
        ("a/.x.yaml", "x: 1"),
        (".g/y.yaml", "y: 1"),
        ("c.json", "{}"),
    ]);
    let loaded = policies(&[root.path().to_str().unwrap()]);
    assert_eq!(names(&loaded, root.path()), ["a/z.yml", "b.yaml"]);
    let served = served_policies(&[root.path().to_str().unwrap()]);
    assert_eq!(names(&served, root.path()), ["a/z.yml", "b.yaml", "c.json"]);
    assert_eq!(causes(&loaded), [FileCause::Extension]);
}

#[test]
fn patterns_are_expanded_when_no_file_has_the_name() {
    let root = tree(&[("a.yaml", "a: 1"), ("b.yaml", "b: 1"), ("b.txt", "")]);
    let loaded =
        policies(&[format!("{}/*.yaml", root.path().display()), format!("{}/x*", root.path().display())]);
    assert_eq!(names(&loaded, root.path()), ["a.yaml", "b.yaml"]);
    assert_eq!(causes(&loaded), [FileCause::NoMatch]);
}

#[test]
fn missing_and_empty_files_are_noticed() {
    let root = tree(&[("e.yaml", "# nothing\n")]);
    let loaded = policies(&["nope.yaml", root.path().join("e.yaml").to_str().unwrap()]);
    assert_eq!(causes(&loaded), [FileCause::Missing, FileCause::Empty]);
    assert_eq!(loaded.notices[0].to_string(), "nope.yaml: stat nope.yaml: no such file or directory");
}

#[cfg(feature = "streams")]
#[test]
fn a_resource_directory_stands_alone_and_is_not_walked() {
    let root = tree(&[("a.yaml", "a: 1"), (".b.yml", "b: 1"), ("d/c.yaml", "c: 1")]);
    let loaded = resources(&[root.path().to_str().unwrap(), "other.yaml"], Reading::default());
    assert_eq!(names(&loaded, root.path()), [".b.yml", "a.yaml"]);
    assert_eq!(causes(&loaded), [FileCause::Unread, FileCause::Superseded]);
}

#[cfg(feature = "streams")]
#[test]
fn resources_are_read_from_all_folders_and_by_patterns() {
    let root = tree(&[("a.yaml", "a: 1"), ("d/c.yaml", "c: 1"), ("d/e/f.yml", "f: 1"), ("n.txt", "n: 1")]);
    let folder = root.path().to_str().unwrap().to_string();
    let pattern = format!("{folder}/d/*.yaml");
    let recursive = Reading { recursive: true, patterns: true, ..Reading::default() };
    let all = resources(&[folder.clone(), format!("{folder}/n.txt"), pattern.clone()], recursive);
    assert_eq!(names(&all, root.path()), ["a.yaml", "d/c.yaml", "d/e/f.yml", "n.txt", "d/c.yaml"]);
    let patterns = Reading { patterns: true, ..Reading::default() };
    assert_eq!(names(&resources(&[&pattern], patterns), root.path()), ["d/c.yaml"]);
    assert_eq!(causes(&resources(&[&pattern], Reading::default())), [FileCause::Missing]);
    let deep = tree(&[("d/c.yaml", "c: 1")]);
    let none = resources(&[deep.path().to_str().unwrap()], Reading::default());
    assert!(none.notices[0].text.contains("--recursive"), "{:?}", none.notices);
}

#[cfg(feature = "streams")]
#[test]
fn resource_files_may_have_any_name() {
    let root = tree(&[("a.txt", "a: 1")]);
    let loaded = resources(&[root.path().join("a.txt").to_str().unwrap(), "nope"], Reading::default());
    assert_eq!(loaded.sources.len(), 1);
    assert_eq!(loaded.notices[0].text, "open nope: no such file or directory");
}

#[test]
fn text_that_is_not_utf_8_is_refused_with_its_place() {
    let root = tree(&[]);
    let path = root.path().join("a.yaml");
    fs::write(&path, b"a: 1\nb: \xff\n").unwrap();
    let loaded = policies(&[path.to_str().unwrap()]);
    assert_eq!(loaded.notices[0].text, "invalid UTF-8 at byte 8 (line 2)");
}

#[test]
fn static_manifests_are_the_yaml_and_json_files_of_a_folder_hidden_ones_too() {
    let all = ["b.yml", "a.YAML", ".c.yaml", ".yaml", "d.json", "e.txt", "sub.yaml/f.yaml", "sub/g.yaml"];
    let root = tree(&all.map(|name| (name, name)));
    let texts: Vec<String> = manifests(root.path()).unwrap().into_iter().map(|s| s.text).collect();
    assert_eq!(texts, [".c.yaml", ".yaml", "a.YAML", "b.yml", "d.json"]);
    let (path, _) = manifests(&root.path().join("missing")).unwrap_err();
    assert_eq!(path, root.path().join("missing"));
}

#[test]
#[cfg(feature = "network")]
fn texts_and_notices_in_a_recording_are_those_that_were_read() {
    let mut loaded = Loaded::default();
    loaded.sources.push(SourceText { name: "/a.yaml".into(), text: "a: \"ä\"\n".into() });
    loaded.note("/b.yaml", FileCause::Unreadable, "why");
    let read = Loaded::of_json(&loaded.as_json()).unwrap();
    assert_eq!((read.sources, read.notices), (loaded.sources, loaded.notices));
    assert!(Loaded::of_json("{}").is_none());
}
