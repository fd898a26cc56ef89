//! A fetched artifact as files.
//!
//! In: a manifest whose digest is checked, and who fetches its layers. Out: a [`Bundle`]. A layer
//! is a file where an annotation names it (`org.opencontainers.image.title`, as ORAS writes it) or
//! where it has the type of Kyverno's policies, and an archive where its type says so; others are
//! left out by name. Sizes are limited before anything is fetched.

use std::collections::BTreeMap;

use ephor_external::registry::{Failure, Manifest};
use ephor_value::{Value, parallel};

use super::archive;
use super::artifact::{POLICY_LAYER, POLICY_NAME, TITLE};
use super::error::{ArtifactProblem, BundleError, NameProblem};
use super::names::{checked, is_policy_file};
use super::reference::BundleReference;

/// How many layers, and how many files, a bundle may have.
pub const MAX_FILES: usize = 4096;
/// How many bytes its files may have together.
pub const MAX_TOTAL: u64 = 50 * 1024 * 1024;
/// The annotation with which ORAS says that a layer is a folder as an archive.
const UNPACK: &str = "io.deis.oras.content.unpack";
/// Types of layers that are archives.
const ARCHIVES: [&str; 4] = [
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
    "application/vnd.docker.image.rootfs.diff.tar",
];

/// Fetches the layer of a digest, of at most this many bytes, and checks it.
type FetchLayer<'f> = &'f (dyn Fn(&str, u64) -> Result<Vec<u8>, Failure> + Sync);

/// A file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleFile {
    /// Its path in the folder of the bundle.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// The media type of its layer.
    pub media_type: String,
    /// The digest of its layer.
    pub layer: String,
}

/// A bundle that was fetched as a whole.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// The reference that was meant.
    pub reference: BundleReference,
    /// The digest of its manifest.
    pub digest: String,
    /// The type of the artifact: its own, or that of its configuration.
    pub kind: String,
    /// Its annotations, by name.
    pub annotations: BTreeMap<String, String>,
    /// Its policy files, by name.
    pub files: Vec<BundleFile>,
    /// What of it is no policy file, by name or digest.
    pub left_out: Vec<String>,
    /// The file with pins that chose the digest.
    pub pinned_by: Option<String>,
    /// The name of the key that signed it, where one is required.
    pub signed_by: Option<String>,
}

impl Bundle {
    /// The name of a file in messages.
    pub fn name_of(&self, file: &BundleFile) -> String {
        format!("{}#{}", self.reference, file.name)
    }

    /// The files that an argument means: that behind `#`, else all.
    pub fn files_of<'b>(&'b self, argument: &'b str) -> impl Iterator<Item = &'b BundleFile> {
        let one = argument.split_once('#').map(|(_, name)| name);
        self.files.iter().filter(move |file| one.is_none_or(|name| file.name == name))
    }

    /// Reads an artifact; `blob` fetches its layers.
    ///
    /// # Errors
    /// It is no bundle, is larger than one may be, or has a name that leads out of its folder.
    pub(super) fn read(
        reference: &BundleReference,
        manifest: &Manifest,
        blob: FetchLayer<'_>,
    ) -> Result<Bundle, BundleError> {
        let wrong =
            |problem: ArtifactProblem| BundleError::Artifact { reference: reference.to_string(), problem };
        let read = manifest.read().map_err(|cause| wrong(ArtifactProblem::Json(cause)))?;
        if manifest.is_index() || read.get("manifests").is_some() {
            return Err(wrong(ArtifactProblem::Index));
        }
        let layers = read.get("layers").and_then(Value::as_list).unwrap_or_default();
        let refused = |problem| match problem {
            Problem::Artifact(problem) => wrong(problem),
            Problem::Name(name, problem) => {
                BundleError::Name { reference: reference.to_string(), name, problem }
            }
        };
        let layers: Vec<Layer> = layers.iter().map(Layer::of).collect::<Result<_, _>>().map_err(refused)?;
        within_limits(&layers).map_err(wrong)?;
        let fetched = parallel::map(&layers, |layer| match &layer.form {
            Form::Other(_) => Ok(Vec::new()),
            Form::File(_) | Form::Archive => blob(&layer.digest, layer.stated),
        });
        let mut files = Files::default();
        for (layer, bytes) in layers.iter().zip(fetched) {
            let bytes =
                bytes.map_err(|cause| BundleError::Registry { reference: reference.to_string(), cause })?;
            layer.add(bytes, &mut files).map_err(refused)?;
        }
        let Files { found, left_out, .. } = files;
        if found.is_empty() {
            return Err(wrong(ArtifactProblem::Empty));
        }
        if let Some(name) = found.keys().find(|name| is_folder(name, &found)) {
            return Err(wrong(ArtifactProblem::Twice(name.clone())));
        }
        let kind = match read.text_at(&["artifactType"]) {
            "" => read.text_at(&["config", "mediaType"]),
            kind => kind,
        };
        let annotations = read.get("annotations").and_then(Value::as_map);
        let annotations = annotations.into_iter().flat_map(|all| all.iter());
        Ok(Bundle {
            reference: reference.clone(),
            digest: manifest.digest.clone(),
            kind: kind.into(),
            annotations: annotations.filter_map(|(k, v)| Some((k.to_string(), v.as_str()?.into()))).collect(),
            files: found.into_values().collect(),
            left_out,
            pinned_by: None,
            signed_by: None,
        })
    }
}

/// Whether a name is also that of a folder of another file.
fn is_folder(name: &str, all: &BTreeMap<String, BundleFile>) -> bool {
    let below = format!("{name}/");
    all.range(below.clone()..).next().is_some_and(|(other, _)| other.starts_with(&below))
}

fn within_limits(layers: &[Layer]) -> Result<(), ArtifactProblem> {
    if layers.len() > MAX_FILES {
        return Err(ArtifactProblem::TooMany(MAX_FILES));
    }
    let total = layers.iter().fold(0_u64, |sum, layer| sum.saturating_add(layer.stated));
    if total > MAX_TOTAL { Err(ArtifactProblem::TooLarge(MAX_TOTAL)) } else { Ok(()) }
}

/// What a layer is.
enum Form {
    /// A policy file.
    File(String),
    /// Files.
    Archive,
    /// Anything else, with its name or digest.
    Other(String),
}

struct Layer {
    digest: String,
    media_type: String,
    /// The size that the manifest states.
    stated: u64,
    form: Form,
}

/// What is wrong with a layer.
enum Problem {
    Artifact(ArtifactProblem),
    Name(String, NameProblem),
}

impl From<ArtifactProblem> for Problem {
    fn from(problem: ArtifactProblem) -> Problem {
        Problem::Artifact(problem)
    }
}

/// A name that stays in the folder.
fn named(name: &str) -> Result<String, Problem> {
    checked(name).map_err(|problem| Problem::Name(name.into(), problem))
}

/// A number of bytes; 0 for what is none, and more than any limit for what is too large.
fn size(value: &Value) -> u64 {
    value
        .as_number()
        .filter(|number| number.fract() == 0.0 && *number >= 0.0)
        .map_or(0, |number| number as u64)
}

#[derive(Default)]
struct Files {
    found: BTreeMap<String, BundleFile>,
    left_out: Vec<String>,
    total: u64,
}

impl Layer {
    /// What the manifest says of a layer; names are checked before anything is fetched.
    fn of(layer: &Value) -> Result<Layer, Problem> {
        let annotation = |name: &str| layer.text_at(&["annotations", name]);
        let (digest, media_type) = (layer.text_at(&["digest"]), layer.text_at(&["mediaType"]));
        let file = |name: String| match named(&name)? {
            name if is_policy_file(&name) => Ok::<_, Problem>(Form::File(name)),
            name => Ok(Form::Other(name)),
        };
        let form = match (annotation(TITLE), media_type) {
            (title, _) if !title.is_empty() && annotation(UNPACK) != "true" => file(title.into())?,
            // Kyverno names policies, not files.
            (_, POLICY_LAYER) => file(format!("{}.yaml", annotation(POLICY_NAME)))?,
            (_, kind) if ARCHIVES.contains(&kind) => Form::Archive,
            _ => Form::Other(digest.into()),
        };
        let stated = layer.get("size").map_or(0, size);
        Ok(Layer { digest: digest.into(), media_type: media_type.into(), stated, form })
    }

    fn add(&self, bytes: Vec<u8>, files: &mut Files) -> Result<(), Problem> {
        match &self.form {
            Form::Other(name) => {
                files.left_out.push(name.clone());
                Ok(())
            }
            Form::File(name) => {
                self.whole(&bytes)?;
                files.add(name.clone(), bytes, self)
            }
            Form::Archive => {
                self.whole(&bytes)?;
                for entry in archive::entries(&self.digest, &bytes)? {
                    // Names of what is not read are checked too: one that leads out of the folder
                    // makes the archive one that is not to be trusted.
                    match (named(&entry.name)?, entry.bytes) {
                        (name, Some(bytes)) => files.add(name, bytes, self)?,
                        (name, None) => files.left_out.push(name),
                    }
                }
                Ok(())
            }
        }
    }

    /// Whether all bytes that the manifest states are there.
    fn whole(&self, bytes: &[u8]) -> Result<(), ArtifactProblem> {
        let found = bytes.len() as u64;
        match found == self.stated {
            true => Ok(()),
            false => Err(ArtifactProblem::Size { digest: self.digest.clone(), found, stated: self.stated }),
        }
    }
}

impl Files {
    fn add(&mut self, name: String, bytes: Vec<u8>, layer: &Layer) -> Result<(), Problem> {
        self.total = self.total.saturating_add(bytes.len() as u64);
        if self.total > MAX_TOTAL {
            return Err(ArtifactProblem::TooLarge(MAX_TOTAL).into());
        }
        if self.found.len() >= MAX_FILES {
            return Err(ArtifactProblem::TooMany(MAX_FILES).into());
        }
        let (media_type, digest) = (layer.media_type.clone(), layer.digest.clone());
        let file = BundleFile { name: name.clone(), bytes, media_type, layer: digest };
        match self.found.insert(name.clone(), file) {
            None => Ok(()),
            Some(_) => Err(ArtifactProblem::Twice(name).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::registry::client::sha256;

    /// An artifact with layers: media type, title and bytes.
    fn read(layers: &[(&str, &str, &[u8])]) -> Result<Bundle, String> {
        read_with(layers, |bytes| bytes.len().to_string())
    }

    fn read_with(layers: &[(&str, &str, &[u8])], size: impl Fn(&[u8]) -> String) -> Result<Bundle, String> {
        let text = |(kind, title, bytes): &(&str, &str, &[u8])| {
            format!(
                r#"{{"mediaType":"{kind}","digest":"{}","size":{},"annotations":{{"{TITLE}":"{title}"}}}}"#,
                sha256(bytes),
                size(bytes)
            )
        };
        let texts: Vec<String> = layers.iter().map(text).collect();
        let bytes =
            format!(r#"{{"config":{{"mediaType":"c"}},"layers":[{}]}}"#, texts.join(",")).into_bytes();
        let manifest = Manifest { digest: sha256(&bytes), media_type: String::new(), bytes };
        let blob = |digest: &str, most: u64| {
            let (_, _, bytes) = layers.iter().find(|(_, _, bytes)| sha256(bytes) == digest).unwrap();
            match bytes.len() as u64 <= most {
                true => Ok(bytes.to_vec()),
                false => Err(Failure::other("too large")),
            }
        };
        let reference = BundleReference::parse("oci://localhost/a/b:1").unwrap();
        Bundle::read(&reference, &manifest, &blob).map_err(|error| error.to_string())
    }

    #[test]
    fn files_are_in_the_order_of_their_names_and_others_are_named() {
        let bundle =
            read(&[("x", "b.yaml", b"b"), ("y", "a/a.yaml", b"a"), ("z", "LICENSE", b"l"), ("w", "", b"w")]);
        let bundle = bundle.unwrap();
        let names: Vec<&str> = bundle.files.iter().map(|file| &*file.name).collect();
        assert_eq!(names, ["a/a.yaml", "b.yaml"]);
        assert_eq!(bundle.left_out, ["LICENSE".to_string(), sha256(b"w")]);
        assert_eq!(
            (&*bundle.kind, &*bundle.name_of(&bundle.files[1])),
            ("c", "oci://localhost/a/b:1#b.yaml")
        );
    }

    #[test]
    fn no_bit_of_a_manifest_or_an_archive_leads_out_of_the_folder() {
        let mut archive = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_old();
        header.set_size(1);
        archive.append_data(&mut header, "b/c.yaml", &b"a"[..]).unwrap();
        let archive = archive.into_inner().unwrap();
        let manifest = format!(
            r#"{{"layers":[{{"digest":"0","size":{},"mediaType":"{}"}},{{"digest":"1","size":1,"annotations":{{"{TITLE}":"a/b.yaml"}}}}]}}"#,
            archive.len(),
            ARCHIVES[1]
        );
        let reference = BundleReference::parse("oci://localhost/a/b:1").unwrap();
        let read = |manifest: &[u8], archive: &[u8]| {
            let manifest =
                Manifest { digest: String::new(), media_type: String::new(), bytes: manifest.to_vec() };
            let blob = |digest: &str, _: u64| Ok(if digest == "0" { archive.to_vec() } else { vec![b'a'] });
            Bundle::read(&reference, &manifest, &blob)
        };
        let mut read_any = 0;
        for (bytes, is_manifest) in [(manifest.as_bytes(), true), (&archive, false)] {
            for (at, bit) in (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
                let mut changed = bytes.to_vec();
                changed[at] ^= 1 << bit;
                let bundle = match is_manifest {
                    true => read(&changed, &archive),
                    false => read(manifest.as_bytes(), &changed),
                };
                for file in bundle.iter().flat_map(|bundle| &bundle.files) {
                    assert_eq!(checked(&file.name).as_ref(), Ok(&file.name));
                    read_any += 1;
                }
            }
        }
        assert!(read_any > 1000, "{read_any}");
    }

    #[test]
    fn sizes_are_those_of_the_manifest_and_limited() {
        let layers: &[(&str, &str, &[u8])] = &[("x", "a.yaml", b"text")];
        assert!(read_with(layers, |_| "4".into()).is_ok());
        assert!(read_with(layers, |_| "9".into()).unwrap_err().contains("has 4 bytes, the manifest says 9"));
        for small in ["0", "3", "-1", "0.5", "\"4\"", "null"] {
            assert!(read_with(layers, |_| small.into()).unwrap_err().contains("too large"), "{small}");
        }
        for large in ["52428801", "1e300", "18446744073709551616"] {
            let refused = read_with(layers, |_| large.into()).unwrap_err();
            assert!(refused.contains("more than 52428800 bytes"), "{large}: {refused}");
        }
        let many: Vec<(&str, &str, &[u8])> = vec![("x", "", b""); MAX_FILES + 1];
        assert!(read(&many).unwrap_err().contains("more than 4096 files"));
    }
}
