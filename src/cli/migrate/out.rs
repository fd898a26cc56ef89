//! `--out`: the migrated files in a folder, laid out as the old ones.
//!
//! Each file is written through a temporary one and renamed, so that a file is whole or not there.

use std::path::{Path, PathBuf};

use ephor_migrate::File;

use crate::cli::{Error, write_whole};

/// The name of the file for standard input.
const OF_STANDARD_INPUT: &str = "policies.yaml";

/// Writes the files that have policies.
///
/// # Errors
/// A file cannot be written.
pub fn write(folder: &str, arguments: &[String], files: &[File]) -> Result<(), Error> {
    for file in files.iter().filter(|file| file.has_policies()) {
        let path = target(folder, arguments, &file.name);
        whole(&path, file.migrated())?;
    }
    Ok(())
}

/// Writes a file, and the folders that it is in.
///
/// # Errors
/// It cannot be written.
pub fn whole(path: &Path, text: impl AsRef<[u8]>) -> Result<(), Error> {
    let shown = path.display().to_string();
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|cause| Error::Write { path: shown.clone(), cause })?;
    }
    write_whole(&shown, text)
}

/// Where a file of the arguments stands in the folder: below the folder that was named, or by its own name.
pub fn target(folder: &str, arguments: &[String], name: &str) -> PathBuf {
    let path = Path::new(name);
    let below = arguments.iter().find_map(|argument| {
        let root = Path::new(argument);
        let rest = path.strip_prefix(root).ok()?;
        // A folder of several keeps its name.
        let own = root.file_name().filter(|_| arguments.len() > 1).map(PathBuf::from).unwrap_or_default();
        (!rest.as_os_str().is_empty()).then(|| own.join(rest))
    });
    let own = || match name {
        "-" => OF_STANDARD_INPUT.into(),
        _ => path.file_name().map(PathBuf::from).unwrap_or_default(),
    };
    Path::new(folder).join(below.unwrap_or_else(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stand_below_the_folder_that_was_named() {
        let of = |arguments: &[&str], name: &str| {
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            target("out", &arguments, name).display().to_string()
        };
        assert_eq!(of(&["a/policies"], "a/policies/x/p.yaml"), "out/x/p.yaml");
        assert_eq!(of(&["a", "b"], "b/x.yaml"), "out/b/x.yaml");
        assert_eq!(of(&["a/p.yaml"], "a/p.yaml"), "out/p.yaml");
        assert_eq!(of(&["-"], "-"), "out/policies.yaml");
    }
}
