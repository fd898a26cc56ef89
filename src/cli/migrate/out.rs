//! `--out`: where the migrated files stand in the folder, laid out as the old ones.
//!
//! In: the arguments. Out: a path below the folder for each file below an argument, another one for
//! each ([`Layout`]). Nothing is read or written here.

use std::path::{Path, PathBuf};

use crate::cli::outputs::absolute;

/// The name of the file for standard input.
const OF_STANDARD_INPUT: &str = "policies.yaml";

/// The argument for standard input.
const STANDARD_INPUT: &str = "-";

/// Where files of the arguments stand in the folder.
#[derive(Debug)]
pub struct Layout {
    folder: PathBuf,
    /// Arguments, from the root, and what stands for each below the folder.
    roots: Vec<(PathBuf, PathBuf)>,
}

impl Layout {
    /// The layout for arguments: of one folder what is below it, of several arguments the own name
    /// of each, and when two of them have one name, the paths below the folder that all have in
    /// common.
    pub fn of(folder: &str, arguments: &[String]) -> Self {
        let whole: Vec<PathBuf> =
            arguments.iter().filter(|a| *a != STANDARD_INPUT).map(|a| absolute(Path::new(a))).collect();
        let own = |path: &PathBuf| path.file_name().map(PathBuf::from).unwrap_or_default();
        let mut names: Vec<PathBuf> = whole.iter().map(own).collect();
        if arguments.iter().any(|argument| argument == STANDARD_INPUT) {
            names.push(OF_STANDARD_INPUT.into());
        }
        names.sort();
        let is_distinct = names.windows(2).all(|pair| pair[0] != pair[1]);
        let common = common(&whole);
        let below = |path: &PathBuf| match whole.as_slice() {
            [_] if names.len() == 1 => PathBuf::new(),
            _ if is_distinct => own(path),
            _ => path.strip_prefix(&common).map(Path::to_path_buf).unwrap_or_default(),
        };
        let mut roots: Vec<(PathBuf, PathBuf)> =
            whole.iter().map(|path| (path.clone(), below(path))).collect();
        // The nearest argument above a file is the one that it belongs to.
        roots.sort_by_key(|(path, _)| std::cmp::Reverse(path.components().count()));
        Self { folder: folder.into(), roots }
    }

    /// The folder of all.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a file below an argument; one that is below none stands in the folder itself.
    pub fn target(&self, name: &str) -> PathBuf {
        if name == STANDARD_INPUT {
            return self.folder.join(OF_STANDARD_INPUT);
        }
        let path = absolute(Path::new(name));
        let below = self.roots.iter().find_map(|(root, below)| {
            let rest = path.strip_prefix(root).ok()?;
            let whole = below.join(rest);
            // A file that is the only argument has its own name.
            (!whole.as_os_str().is_empty()).then(|| whole.components().collect::<PathBuf>())
        });
        let own = || path.file_name().map(PathBuf::from).unwrap_or_default();
        self.folder.join(below.unwrap_or_else(own))
    }

    /// Whether a file is below an argument.
    pub fn has(&self, name: &Path) -> bool {
        let path = absolute(name);
        self.roots.iter().any(|(root, _)| path.starts_with(root))
    }
}

/// The folder that all paths are below.
fn common(paths: &[PathBuf]) -> PathBuf {
    let parent = |path: &PathBuf| path.parent().map(Path::to_path_buf).unwrap_or_default();
    let mut common = paths.first().map(parent).unwrap_or_default();
    for path in paths {
        while !path.starts_with(&common) || path == &common {
            if !common.pop() {
                break;
            }
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &[&str], names: &[&str]) -> Vec<String> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let layout = Layout::of("out", &arguments);
        names.iter().map(|name| layout.target(name).display().to_string()).collect()
    }

    #[test]
    fn files_stand_below_the_folder_that_was_named() {
        assert_eq!(of(&["src"], &["src/x/p.yaml"]), ["out/x/p.yaml"]);
        assert_eq!(of(&["a", "b"], &["a/x.yaml", "b/x.yaml"]), ["out/a/x.yaml", "out/b/x.yaml"]);
        assert_eq!(of(&["a/p.yaml"], &["a/p.yaml"]), ["out/p.yaml"]);
        assert_eq!(of(&["-"], &["-"]), ["out/policies.yaml"]);
    }

    #[test]
    fn files_and_folders_of_one_name_stand_below_what_they_have_in_common() {
        let files = ["a/policy.yaml", "b/policy.yaml"];
        assert_eq!(of(&files, &files), ["out/a/policy.yaml", "out/b/policy.yaml"]);
        let found = of(&["x/policies", "y/policies"], &["x/policies/p.yaml", "y/policies/p.yaml"]);
        assert_eq!(found, ["out/x/policies/p.yaml", "out/y/policies/p.yaml"]);
        let found = of(&["../a/p.yaml", "./p.yaml", "q.yaml"], &["../a/p.yaml", "p.yaml", "q.yaml"]);
        assert_eq!(found.iter().collect::<std::collections::BTreeSet<_>>().len(), 3, "{found:?}");
        let found =
            of(&["-", "policies.yaml", "a/policies.yaml"], &["-", "policies.yaml", "a/policies.yaml"]);
        assert_eq!(found[2], "out/a/policies.yaml");
    }
}
