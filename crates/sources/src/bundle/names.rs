//! Names of files in bundles: paths with `/` that stay in the folder of the bundle.
//!
//! In: a name as an artifact or an archive has it. Out: the name, or why it is refused. What is
//! checked holds on every system, as who pushes does not know who pulls.

use super::error::NameProblem;

/// The longest name, and the deepest folder.
const MAX_LENGTH: usize = 512;
const MAX_DEPTH: usize = 16;

/// Checks a name; a leading `./` is left out.
///
/// # Errors
/// It leads out of the folder, or is no name on some system.
pub fn checked(name: &str) -> Result<String, NameProblem> {
    let name = name.strip_prefix("./").unwrap_or(name);
    if name.starts_with('/') || name.contains('\\') || name.contains(':') {
        return Err(NameProblem::Absolute);
    }
    if name.len() > MAX_LENGTH || name.split('/').count() > MAX_DEPTH {
        return Err(NameProblem::Long);
    }
    for step in name.split('/') {
        match step {
            ".." => return Err(NameProblem::Outside),
            "" | "." => return Err(NameProblem::Empty),
            step if step.chars().any(char::is_control) => return Err(NameProblem::Control),
            _ => {}
        }
    }
    Ok(name.to_owned())
}

/// Whether a file holds policies by its name: YAML or JSON, not hidden, as folders are read.
pub fn is_policy_file(name: &str) -> bool {
    let has_extension = [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end));
    has_extension && name.split('/').all(|step| !step.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder_on_every_system() {
        assert_eq!(checked("a/b.yaml"), Ok("a/b.yaml".into()));
        assert_eq!(checked("./a.yaml"), Ok("a.yaml".into()));
        for (name, why) in [
            ("../a.yaml", NameProblem::Outside),
            ("a/../../b.yaml", NameProblem::Outside),
            ("/etc/a.yaml", NameProblem::Absolute),
            ("C:/a.yaml", NameProblem::Absolute),
            ("..\\a.yaml", NameProblem::Absolute),
            ("a//b.yaml", NameProblem::Empty),
            ("", NameProblem::Empty),
            ("./../a.yaml", NameProblem::Outside),
            ("a\u{0}.yaml", NameProblem::Control),
        ] {
            assert_eq!(checked(name), Err(why), "{name:?}");
        }
        assert_eq!(checked(&"a/".repeat(20)), Err(NameProblem::Long));
    }

    #[test]
    fn hidden_files_and_those_of_other_kinds_hold_no_policies() {
        let all = ["a.yaml", "a/b.yml", "c.json", "README.md", ".github/w.yaml", "a/.b.yaml"];
        let some: Vec<&str> = all.into_iter().filter(|name| is_policy_file(name)).collect();
        assert_eq!(some, ["a.yaml", "a/b.yml", "c.json"]);
    }
}
