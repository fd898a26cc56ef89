//! The folders that names of files begin in, for documents that build servers read.
//!
//! In: the current folder, and what the environment says. Out: [`Roots`]: the repository is that of
//! git, or the folder that a build server checked it out to, where the checkout has no `.git`.

use std::path::Path;

use ephor_report::roots::Roots;
use ephor_value::environment::{CI_PROJECT_DIR, GITHUB_WORKSPACE};

/// Those of this process.
pub(super) fn here() -> Roots {
    let Ok(folder) = std::env::current_dir() else { return Roots::default() };
    let workspace = GITHUB_WORKSPACE.non_empty().or_else(|| CI_PROJECT_DIR.non_empty());
    // A folder in the main checkout, a file in other worktrees and in submodules.
    Roots::of(&folder, workspace.as_deref().map(Path::new), |folder| folder.join(".git").exists())
}
