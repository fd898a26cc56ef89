//! Paths of files as texts.
//!
//! In: a path as a user or a file writes it. Out: the same path without detours; nothing is looked
//! up, so a link is not followed.

use std::path::{Component, Path, PathBuf};

/// The path without `.`, and without `..` behind a name or the root.
pub fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            // Nothing is above the root.
            Component::ParentDir if out.has_root() => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detours_are_left_out_and_what_leads_above_the_start_stays() {
        let of = |path: &str| normal(Path::new(path)).to_string_lossy().into_owned();
        assert_eq!(of("./a/../b/./c.yaml"), "b/c.yaml");
        assert_eq!(of("../a/../../b"), "../../b");
        assert_eq!(of("/../a/../b"), "/b");
        assert_eq!(of("/a/../b"), "/b");
    }
}
