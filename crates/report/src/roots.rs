//! Where names of files begin: the folder of a run, and the root of the repository that it is in.
//!
//! In: the name of a file as the user wrote it. Out: the name that build servers know it by. Code
//! scanning, annotations and test reports of GitHub and GitLab take a relative name from the root
//! of the repository, whatever the folder of the step is.

use std::path::{Path, PathBuf};

use ephor_value::file_path::normal;

/// The folders that names of files begin in.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Roots {
    /// The folder of the run.
    folder: Option<PathBuf>,
    /// The root of its repository.
    repository: Option<PathBuf>,
}

/// A file's name, and what it is relative to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The name.
    pub name: PathBuf,
    /// Whether it begins at the root of the repository.
    pub is_in_repository: bool,
}

impl Roots {
    /// Those of a folder: its repository is the nearest folder around it for which `is_repository`
    /// holds, else `workspace` if that is around it.
    pub fn of(folder: &Path, workspace: Option<&Path>, is_repository: impl Fn(&Path) -> bool) -> Roots {
        let nearest = folder.ancestors().find(|around| is_repository(around));
        let repository = nearest.or_else(|| workspace.filter(|workspace| folder.starts_with(workspace)));
        Roots { folder: Some(folder.to_owned()), repository: repository.map(normal) }
    }

    /// The name of a file, without detours: relative to the root of the repository for what is
    /// below it, else to the folder of the run, else absolute. Without a repository a name that
    /// leads out of the folder stays relative, as it was written.
    pub fn locate(&self, file: &str) -> Located {
        let written = Path::new(file);
        let Some(folder) = &self.folder else {
            return Located { name: normal(written), is_in_repository: false };
        };
        let whole = normal(&folder.join(written));
        if let Some(repository) = &self.repository {
            return match whole.strip_prefix(repository) {
                Ok(inside) => Located { name: inside.to_owned(), is_in_repository: true },
                Err(_) => Located { name: whole, is_in_repository: false },
            };
        }
        let name = match whole.strip_prefix(normal(folder)) {
            Ok(inside) => inside.to_owned(),
            Err(_) => normal(written),
        };
        Located { name, is_in_repository: false }
    }

    /// The name of a file in annotations and test reports; addresses and standard input stay as
    /// they are.
    pub fn name(&self, file: &str) -> String {
        match file == "-" || file.contains("://") {
            true => file.into(),
            false => self.locate(file).name.to_string_lossy().replace('\\', "/"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(folder: &str, workspace: Option<&str>) -> Roots {
        let is_repository =
            |path: &Path| path == Path::new("/work/shop") || path == Path::new("/work/shop/vendor/lib");
        Roots::of(Path::new(folder), workspace.map(Path::new), is_repository)
    }

    #[test]
    fn names_begin_at_the_root_of_the_nearest_repository() {
        let sub = roots("/work/shop/deploy/eu", None);
        assert_eq!(sub.name("./a/../b c.yaml"), "deploy/eu/b c.yaml");
        assert_eq!(sub.name("../../policies/p.yaml"), "policies/p.yaml");
        assert_eq!(sub.name("/work/shop/x.yaml"), "x.yaml");
        assert_eq!(roots("/work/shop", None).name("x.yaml"), "x.yaml");
        assert_eq!(roots("/work/shop/vendor/lib/a", None).name("../x.yaml"), "x.yaml");
        // What is outside of the repository has no name in it.
        assert_eq!(sub.name("../../../other/p.yaml"), "/work/other/p.yaml");
        assert_eq!(sub.name("/etc/p.yaml"), "/etc/p.yaml");
        for same in ["-", "https://example.com/a/../p.yaml"] {
            assert_eq!(sub.name(same), same);
        }
    }

    #[test]
    fn without_a_repository_the_workspace_of_the_build_server_counts_if_it_is_around_the_folder() {
        let of = |workspace| roots("/builds/shop/sub", workspace).name("../policies/p.yaml");
        assert_eq!(of(Some("/builds/shop/")), "policies/p.yaml");
        assert_eq!(of(Some("/elsewhere")), "../policies/p.yaml");
        // The repository that the folder is in is nearer than the workspace, which holds several.
        assert_eq!(roots("/work/shop/deploy", Some("/work")).name("x.yaml"), "deploy/x.yaml");
    }

    #[test]
    fn outside_of_a_repository_names_are_relative_to_the_folder() {
        let plain = roots("/tmp/x", None);
        assert_eq!(plain.name("./a/b.yaml"), "a/b.yaml");
        assert_eq!(plain.name("/tmp/x/a.yaml"), "a.yaml");
        assert_eq!(plain.name("../y.yaml"), "../y.yaml");
        assert_eq!(plain.name("/etc/y.yaml"), "/etc/y.yaml");
        assert_eq!(Roots::default().name("./a.yaml"), "a.yaml");
        assert!(!plain.locate("a.yaml").is_in_repository);
    }
}
