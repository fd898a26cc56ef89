//! The policy library: ready-made controls, each in its forms, packed into the program.
//!
//! In: the files of `policies/`, which `build.rs` packs; a name of a set, a group or a control.
//! Out: [`Control`]s with what their annotations say, and the files of each form. Nothing else
//! holds facts about a control: pages of the book, `ephor policies` and `builtin://` read the same.
//!
//! A control is a folder `GROUP/NAME`. Its forms:
//!
//! | file | form |
//! |---|---|
//! | `NAME.yaml` | [`Form::Classic`]: ClusterPolicy or ClusterCleanupPolicy, with annotations |
//! | `NAME.vpol.yaml`, `.mpol`, `.gpol`, `.dpol` | [`Form::Cel`]: Kyverno's CEL kind of it |
//! | `NAME.vap.yaml`, `.map` | [`Form::Native`]: the policy of Kubernetes with its binding |
//! | `.kyverno-test/*.yaml` | its tests, with the objects that pass and fail |
//!
//! Annotations that are read: `policies.kyverno.io/title`, `category`, `severity`, `subject` and
//! `description` (why it is wanted), `ephor.dev/fix` (what to write instead), and
//! `ephor.dev/standards`.
//! How a control is added: `policies/README.md`.
//!
//! - [`sets`]: sets and groups: tables
//! - [`mod@reference`]: `builtin://NAME?form=FORM`, the name of a policy source
#![forbid(unsafe_code)]

pub mod reference;
pub mod sets;

use std::io::Read;
use std::sync::OnceLock;

use ephor_document::{Duplicates, parse_stream};
use ephor_value::Value;
use flate2::read::DeflateDecoder;

pub use reference::{LibraryError, Selection};
pub use sets::{GROUPS, Group, SETS, Set};

include!(concat!(env!("OUT_DIR"), "/files.rs"));

const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/library.deflate"));

/// How many bytes the library takes in the program.
pub const PACKED_SIZE: usize = PACKED.len();

/// A language that a control is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// ClusterPolicy, ClusterCleanupPolicy.
    Classic,
    /// Kyverno's kinds in CEL.
    Cel,
    /// Policies of Kubernetes.
    Native,
}

impl Form {
    /// All forms.
    pub const ALL: [Form; 3] = [Form::Classic, Form::Cel, Form::Native];

    /// What it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Form::Classic => "classic",
            Form::Cel => "cel",
            Form::Native => "native",
        }
    }

    /// The form of this name.
    pub fn of(name: &str) -> Option<Form> {
        Form::ALL.into_iter().find(|form| form.name() == name)
    }

    fn of_file(name: &str, control: &str) -> Option<Form> {
        match name.strip_prefix(control)?.strip_suffix(".yaml")? {
            "" => Some(Form::Classic),
            ".vpol" | ".mpol" | ".gpol" | ".dpol" | ".ivpol" => Some(Form::Cel),
            ".vap" | ".map" => Some(Form::Native),
            _ => None,
        }
    }
}

/// A file of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibraryFile {
    /// `GROUP/NAME/FILE`.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// A control: what it is for, and its files.
#[derive(Clone, Debug)]
pub struct Control {
    /// The folder that it is in.
    pub group: &'static str,
    /// Its name, which no other control has.
    pub name: &'static str,
    /// A few words.
    pub title: String,
    /// What kind of control it is.
    pub category: String,
    /// `low`, `medium` or `high`.
    pub severity: String,
    /// The kinds that it is about.
    pub subject: String,
    /// Why a team wants it.
    pub why: String,
    /// What to write instead of what it refuses.
    pub fix: String,
    /// Sections of standards.
    pub standards: Vec<String>,
    /// Its forms, in the order of [`Form`].
    pub forms: Vec<(Form, LibraryFile)>,
    /// Its tests and their objects.
    pub tests: Vec<LibraryFile>,
}

impl Control {
    /// The file of a form.
    pub fn form(&self, form: Form) -> Option<LibraryFile> {
        self.forms.iter().find(|(one, _)| *one == form).map(|(_, file)| *file)
    }

    /// The file of a form, or of the one that is nearest to it: of what Kubernetes cannot say, the
    /// form in CEL; of what that cannot say, the classic one.
    pub fn nearest(&self, form: Form) -> Option<LibraryFile> {
        let order = match form {
            Form::Classic => [Form::Classic, Form::Cel, Form::Native],
            Form::Cel => [Form::Cel, Form::Classic, Form::Native],
            Form::Native => [Form::Native, Form::Cel, Form::Classic],
        };
        order.into_iter().find_map(|form| self.form(form))
    }

    fn of(group: &'static str, name: &'static str, files: &[LibraryFile]) -> Control {
        let mut forms: Vec<(Form, LibraryFile)> = files
            .iter()
            .filter_map(|file| Some((Form::of_file(file.path.rsplit('/').next()?, name)?, *file)))
            .collect();
        forms.sort_by_key(|(form, _)| *form);
        let document = forms.first().and_then(|(_, file)| first_document(file)).unwrap_or(Value::Null);
        let annotation = |key: &str| document.text_at(&["metadata", "annotations", key]).trim().to_owned();
        let ours = |key: &str| annotation(&format!("policies.kyverno.io/{key}"));
        let standards = annotation("ephor.dev/standards");
        let standards = standards.split(',').map(str::trim).filter(|one| !one.is_empty());
        Control {
            group,
            name,
            title: ours("title"),
            category: ours("category"),
            severity: ours("severity"),
            subject: ours("subject"),
            why: ours("description"),
            fix: annotation("ephor.dev/fix"),
            standards: standards.map(String::from).collect(),
            forms,
            tests: files.iter().filter(|file| file.path.contains("/.kyverno-test/")).copied().collect(),
        }
    }
}

fn first_document(file: &LibraryFile) -> Option<Value> {
    let documents = parse_stream(file.path, file.text, Duplicates::Error).ok()?;
    documents.into_iter().next()?.ok().map(|document| document.value)
}

/// The texts of all files, one behind the other.
fn texts() -> &'static str {
    static TEXTS: OnceLock<String> = OnceLock::new();
    TEXTS.get_or_init(|| {
        let mut text = String::new();
        // INVARIANT: `build.rs` packed a text of UTF-8, so this cannot fail; were it to, the
        // library would be empty, and each name in it unknown.
        match DeflateDecoder::new(PACKED).read_to_string(&mut text) {
            Ok(_) => text,
            Err(_) => String::new(),
        }
    })
}

/// All files, in the order of their paths.
pub fn files() -> impl Iterator<Item = LibraryFile> {
    let text = texts();
    FILES.iter().filter_map(|&(path, start, end)| Some(LibraryFile { path, text: text.get(start..end)? }))
}

/// All controls, by group and name.
pub fn controls() -> &'static [Control] {
    static CONTROLS: OnceLock<Vec<Control>> = OnceLock::new();
    CONTROLS.get_or_init(|| {
        let mut folders: Vec<(&'static str, &'static str, Vec<LibraryFile>)> = Vec::new();
        for file in files() {
            let mut parts = file.path.splitn(3, '/');
            let (Some(group), Some(name), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            match folders.last_mut() {
                Some((in_group, of, files)) if *in_group == group && *of == name => files.push(file),
                _ => folders.push((group, name, vec![file])),
            }
        }
        let rank = |group: &str| GROUPS.iter().position(|row| row.name == group).unwrap_or(usize::MAX);
        folders.sort_by_key(|(group, ..)| rank(group));
        folders.into_iter().map(|(group, name, files)| Control::of(group, name, &files)).collect()
    })
}

/// The control of this name.
pub fn control(name: &str) -> Option<&'static Control> {
    controls().iter().find(|control| control.name == name)
}

#[cfg(test)]
mod tests;
