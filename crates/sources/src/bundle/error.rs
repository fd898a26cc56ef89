//! Why a bundle cannot be used.

use std::io;

use ephor_external::registry::{Cause, Failure};

/// Why there is no bundle that may be used. Each cause ends a run: nothing is evaluated with a part
/// of the policies.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// A text that is no reference.
    #[error(
        "`{0}` is no reference of a bundle\nhelp: write oci://REGISTRY/REPOSITORY:TAG, or @sha256:DIGEST in the place of the tag"
    )]
    Reference(Box<str>),
    /// The registry gives nothing.
    #[error("{reference}: {cause}\nhelp: {}", advice(.cause))]
    Registry {
        /// The reference.
        reference: String,
        /// In the registry's words.
        #[source]
        cause: Failure,
    },
    /// The bundle does not have a file.
    #[error("{argument}: the bundle has no such file\nhelp: `ephor bundle inspect` lists its files")]
    NoFile {
        /// The reference with the file.
        argument: String,
    },
    /// A manifest that is none of a bundle.
    #[error("{reference}: {problem}\nhelp: `ephor bundle push` and `kyverno oci push` write bundles")]
    Artifact {
        /// The reference.
        reference: String,
        /// What is wrong with it.
        #[source]
        problem: ArtifactProblem,
    },
    /// A file of a bundle has a name that is refused.
    #[error(
        "{reference}: the file `{name}` is refused: {problem}\nhelp: nothing of the bundle is used; push it again with other names"
    )]
    Name {
        /// The reference.
        reference: String,
        /// The name.
        name: String,
        /// What is wrong with it.
        #[source]
        problem: NameProblem,
    },
    /// No signature by the key.
    #[error(
        "{reference}: {digest} is not signed by the key `{key}`: {why}\nhelp: sign it with `cosign sign --key KEY {}`, or name the key that signed it", image(.reference, .digest)
    )]
    Unsigned {
        /// The reference.
        reference: String,
        /// The digest of the manifest.
        digest: String,
        /// The name of the key.
        key: String,
        /// In the words of cosign.
        why: String,
    },
    /// The key that is required cannot be read.
    #[error(
        "the key of bundles `{name}` {problem}\nhelp: name a file or env://VARIABLE with a public key in PEM, as `cosign.pub`"
    )]
    Key {
        /// The file or variable.
        name: String,
        /// What is wrong with it.
        #[source]
        problem: KeyProblem,
    },
    /// The pins cannot be read.
    #[error("{place}: {problem}\nhelp: `ephor bundle lock` writes the file")]
    Lock {
        /// The file, and the entry if there is one.
        place: String,
        /// What is wrong with it.
        #[source]
        problem: LockProblem,
    },
    /// What else a run requires of bundles cannot be read.
    #[error(transparent)]
    Requirements(Box<dyn std::error::Error + Send + Sync>),
    /// A file that is to be pushed.
    #[error("`{name}`: {problem}")]
    Pushed {
        /// The file.
        name: String,
        /// What is wrong with it.
        #[source]
        problem: PushProblem,
    },
    /// A bundle cannot be written to a folder.
    #[error("{path} {problem}; nothing is written")]
    Folder {
        /// The path.
        path: String,
        /// Why not.
        #[source]
        problem: FolderProblem,
    },
    /// There is nothing to push.
    #[error("there is no policy file to push\nhelp: name files or folders with .yaml, .yml or .json files")]
    NothingToPush,
}

/// What an artifact has that no bundle has.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactProblem {
    /// A list of images.
    #[error("a list of images for several platforms is no bundle")]
    Index,
    /// The manifest is no JSON.
    #[error("the manifest is no JSON: {0}")]
    Json(Failure),
    /// Nothing in it is a policy file.
    #[error("it holds no policy file")]
    Empty,
    /// More layers or files than are read.
    #[error("it has more than {0} files")]
    TooMany(usize),
    /// More bytes than are read.
    #[error("its files have more than {0} bytes")]
    TooLarge(u64),
    /// A layer has another size than the manifest says.
    #[error("layer {digest} has {found} bytes, the manifest says {stated}")]
    Size {
        /// The digest of the layer.
        digest: String,
        /// Its size.
        found: u64,
        /// That of the manifest.
        stated: u64,
    },
    /// An archive cannot be read.
    #[error("layer {digest} is no archive that can be read: {cause}")]
    Archive {
        /// The digest of the layer.
        digest: String,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// Two files of one name, or a file with the name of a folder.
    #[error("two of its files have the name `{0}`")]
    Twice(String),
}

/// What is wrong with the name of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameProblem {
    /// `..`
    #[error("it leads out of the folder")]
    Outside,
    /// A path from a root or a drive.
    #[error("it is no relative path with `/`")]
    Absolute,
    /// An empty step.
    #[error("a step of it is empty")]
    Empty,
    /// Control characters.
    #[error("it has control characters")]
    Control,
    /// Too long or too deep.
    #[error("it is too long")]
    Long,
}

/// What is wrong with a key.
#[derive(Debug, thiserror::Error)]
pub enum KeyProblem {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Unread(#[source] io::Error),
    /// There is no such variable.
    #[error("is not set")]
    NoVariable,
    /// It is no public key.
    #[error("is no public key in PEM")]
    NoKey,
    /// It is in a service, none of which is called.
    #[error("is in a key service or a cluster, which is not called")]
    Service,
}

/// What is wrong with pins.
#[derive(Debug, thiserror::Error)]
pub enum LockProblem {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unread(#[source] io::Error),
    /// It is larger than any such file.
    #[error("has more than {0} bytes")]
    TooLarge(u64),
    /// It is no YAML.
    #[error("{0}")]
    Yaml(#[source] ephor_document::yaml::YamlError),
    /// It has another form.
    #[error("{0}")]
    Form(&'static str),
}

/// Why a file of a bundle cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FolderProblem {
    /// The system refuses.
    #[error("cannot be written: {0}")]
    Write(#[source] io::Error),
    /// A link may lead out of the folder.
    #[error("is a link, which is not followed")]
    Link,
    /// A folder in the place of a file, or the reverse.
    #[error("is there, and is no file or folder as in the bundle")]
    Occupied,
    /// A file would be lost.
    #[error("has another content than in the bundle (--force replaces it)")]
    Other,
}

/// What is wrong with a file that is to be pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushProblem {
    /// It cannot be read.
    #[error("{0}")]
    Unread(String),
    /// Its name.
    #[error("{0}")]
    Name(#[source] NameProblem),
    /// It is of another kind.
    #[error("it is no .yaml, .yml or .json file")]
    Kind,
    /// It is no text.
    #[error("{0}")]
    Text(#[source] std::str::Utf8Error),
    /// It is no YAML.
    #[error("the document in line {}: {}", .0.line, .0)]
    Broken(#[from] ephor_document::LoadError),
    /// It is too large.
    #[error("it has more than {0} bytes")]
    TooLarge(u64),
    /// Another file has its name in the bundle.
    #[error(
        "two files have this name in the bundle\nhelp: push the folder above them, whose files keep their paths"
    )]
    Twice,
    /// There are too many.
    #[error("there are more than {0} files")]
    TooMany(usize),
}

fn advice(cause: &Failure) -> &'static str {
    match cause.cause {
        Cause::Missing => "`ephor bundle push` writes a bundle; check repository, tag and digest",
        Cause::Network => "the registry was not reached; check its name and the proxy",
        Cause::Other => "check the credentials (`docker login`), the repository and the digest",
    }
}

/// The image that is to be signed.
fn image(reference: &str, digest: &str) -> String {
    let name = reference.strip_prefix(super::reference::SCHEME).unwrap_or(reference);
    let name = name.split('@').next().unwrap_or(name);
    let path_at = name.rfind('/').map_or(0, |at| at + 1);
    let name = match name.get(path_at..).and_then(|last| last.find(':')) {
        Some(at) => name.get(..path_at + at).unwrap_or(name),
        None => name,
    };
    format!("{name}@{digest}")
}
