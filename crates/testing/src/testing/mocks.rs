//! Mocked API calls and global context entries of a test file.
//!
//! In: entries as written. Out: what rules read, or Kyverno's text for the first entry that is
//! not well-formed. Semantics: `docs/reference/test.md`, "Data of rules".

use std::collections::HashMap;
use std::path::{Component, Path};

use ephor_document::{self, ResourceOptions};
use ephor_external::Reader;
use ephor_value::{Map, Str, Value};

/// A mocked answer that is a failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "HTTP {status} from apiCall mock for context entry \"{entry}\" (v1 apiCall treats non-2xx as failure)"
)]
pub struct NoAnswer {
    /// The HTTP status.
    pub status: i64,
    /// The context entry that reads it.
    pub entry: Box<str>,
}

/// A projection that a global context entry does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProjection {
    /// An expression reads it.
    #[error("projection \"{projection}\" not found in global context entry \"{entry}\"")]
    Expression {
        /// The projection.
        projection: Box<str>,
        /// The entry.
        entry: Box<str>,
    },
    /// A context entry of a rule reads it.
    #[error("global context mock: projection \"{0}\" not found")]
    Entry(Box<str>),
    /// A context entry of a rule reads it, and there are none.
    #[error("global context mock: projection \"{0}\" requested but value is not an object")]
    NoObject(Box<str>),
}

/// What is wrong with the mocks of a test; the texts are Kyverno's.
#[derive(Debug, thiserror::Error)]
pub enum MockError {
    /// An answer.
    #[error("apiCallResponses[{at}]{cause}")]
    Answer {
        /// Its position.
        at: usize,
        /// What is wrong.
        #[source]
        cause: AnswerError,
    },
    /// Two answers to the same call.
    #[error(
        "apiCallResponses: duplicate entry for \"{place}\" (key \"{key}\") — each method+url combination must be unique"
    )]
    SameCall {
        /// The address.
        place: Box<str>,
        /// The address with the method.
        key: Box<str>,
    },
    /// A global context entry has no name.
    #[error("globalContextEntries: name is required")]
    NoName,
    /// Two global context entries have the same name.
    #[error("globalContextEntries: duplicate name \"{0}\"")]
    SameName(Box<str>),
    /// A global context entry.
    #[error("globalContextEntries entry \"{name}\"{cause}")]
    Global {
        /// Its name.
        name: Box<str>,
        /// What is wrong.
        #[source]
        cause: GlobalError,
    },
}

/// What is wrong with a mocked answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It is for no address.
    #[error(": either url or urlPath is required")]
    NoAddress,
    /// It is for two.
    #[error(": url and urlPath are mutually exclusive")]
    TwoAddresses,
    /// The path is not absolute.
    #[error(": urlPath \"{0}\" must be an absolute path starting with '/'")]
    RelativePath(Box<str>),
    /// The URL has no host.
    #[error(": url \"{0}\" has scheme but no host")]
    NoHost(Box<str>),
    /// The URL is none of HTTP.
    #[error(": url \"{0}\" must be an absolute https/http URL")]
    Url(Box<str>),
    /// The method is another one.
    #[error(": method must be GET or POST")]
    Method,
    /// There is no body for the address.
    #[error(" \"{0}\": response.body is required")]
    MissingBody(Box<str>),
    /// The body for the address is no object.
    #[error(" \"{0}\": response.body must be a JSON object")]
    Body(Box<str>),
    /// The status does not exist.
    #[error(" \"{place}\": statusCode {status} must be between 100 and 599")]
    Status {
        /// The address.
        place: Box<str>,
        /// The status.
        status: i64,
    },
}

/// What is wrong with a global context entry.
#[derive(Debug, thiserror::Error)]
pub enum GlobalError {
    /// A projection has no name.
    #[error(": projection name is required")]
    NoProjectionName,
    /// A projection has no path.
    #[error(" projection \"{0}\": path is required")]
    NoProjectionPath(Box<str>),
    /// It has data of two sources.
    #[error(": data, resources, and resourceFiles are mutually exclusive")]
    TwoSources,
    /// It has no data.
    #[error(": one of data, resources, or resourceFiles is required")]
    NoSource,
    /// The data is no object.
    #[error(": data must be a JSON object")]
    Data,
    /// The resource at this position is no object.
    #[error(" resources[{0}]: must be a JSON object (Kubernetes resource manifest)")]
    Resource(usize),
    /// A file.
    #[error(" resourceFiles[{at}]: {cause}")]
    File {
        /// Its position.
        at: usize,
        /// What is wrong.
        #[source]
        cause: FileError,
    },
    /// An expression has no value.
    #[error(": {0}")]
    Query(#[source] ephor_search::Problem),
}

/// What is wrong with a file of a global context entry.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It has no path.
    #[error("file path must not be empty")]
    Empty,
    /// The path is absolute.
    #[error("file path must not be absolute")]
    Absolute,
    /// The path leads out of the folder of the test.
    #[error("file path must not escape the test directory")]
    Outside,
    /// It cannot be read.
    #[error(transparent)]
    Read(crate::inputs::ReadError),
    /// It holds no objects; the words are those of the loader.
    #[error("{0}")]
    Documents(String),
}

/// The answer to a call.
#[derive(Clone, Debug)]
pub struct Answer {
    status: i64,
    body: Value,
}

impl Answer {
    /// What an expression reads.
    pub fn for_expression(&self) -> Value {
        let entries = [("body", self.body.clone()), ("statusCode", Value::Int(self.status))];
        Value::Map(entries.into_iter().map(|(k, v)| (Str::from(k), v)).collect())
    }

    /// What a context entry reads.
    ///
    /// # Errors
    /// The answer is a failure.
    pub fn for_entry(&self, entry: &str) -> Result<Value, NoAnswer> {
        if (200..300).contains(&self.status) {
            return Ok(self.body.clone());
        }
        Err(NoAnswer { status: self.status, entry: entry.into() })
    }
}

/// Reads answers: by `METHOD:url`, or `url` where there is no method.
///
/// # Errors
/// See the module page.
pub fn answers(entries: &[Value]) -> Result<HashMap<String, Answer>, MockError> {
    let mut all = HashMap::new();
    for (i, entry) in entries.iter().enumerate() {
        let failed = |cause| Err(MockError::Answer { at: i, cause });
        let (url, path) = (entry.text_at(&["url"]), entry.text_at(&["urlPath"]));
        let place = match (url, path) {
            ("", "") => return failed(AnswerError::NoAddress),
            ("", path) if !path.starts_with('/') => {
                return failed(AnswerError::RelativePath(path.into()));
            }
            ("", path) => path,
            (url, "") => check_url(url).map_err(|cause| MockError::Answer { at: i, cause })?,
            _ => return failed(AnswerError::TwoAddresses),
        };
        let method = entry.text_at(&["method"]).to_uppercase();
        if !matches!(&*method, "" | "GET" | "POST") {
            return failed(AnswerError::Method);
        }
        let body = entry.at(&["response", "body"]).cloned().unwrap_or_default();
        match body {
            Value::Null => return failed(AnswerError::MissingBody(place.into())),
            Value::Map(_) => {}
            _ => return failed(AnswerError::Body(place.into())),
        }
        let status = match entry.at(&["response", "statusCode"]) {
            Some(Value::Int(0)) | Some(Value::Null) | None => 200,
            Some(Value::Int(n)) => *n,
            Some(_) => i64::MAX,
        };
        if !(100..600).contains(&status) {
            return failed(AnswerError::Status { place: place.into(), status });
        }
        let key = if method.is_empty() { place.to_owned() } else { format!("{method}:{place}") };
        if all.insert(key.clone(), Answer { status, body }).is_some() {
            return Err(MockError::SameCall { place: place.into(), key: key.into() });
        }
    }
    Ok(all)
}

fn check_url(url: &str) -> Result<&str, AnswerError> {
    match url.split_once("://") {
        Some(("http" | "https", "")) => Err(AnswerError::NoHost(url.into())),
        Some(("http" | "https", rest)) if rest.starts_with('/') => Err(AnswerError::NoHost(url.into())),
        Some(("http" | "https", _)) => Ok(url),
        _ => Err(AnswerError::Url(url.into())),
    }
}

/// A global context entry.
#[derive(Clone, Debug)]
pub struct Global {
    /// Its name.
    pub name: String,
    value: Value,
}

impl Global {
    /// The whole entry, or one of its projections.
    ///
    /// # Errors
    /// There is no such projection.
    pub fn projection(&self, name: &str, by: Reader<'_>) -> Result<Value, NoProjection> {
        if name.is_empty() {
            return Ok(self.value.clone());
        }
        self.value.get(name).cloned().ok_or_else(|| match (by, &self.value) {
            (Reader::Expression, _) => {
                NoProjection::Expression { projection: name.into(), entry: self.name.as_str().into() }
            }
            (Reader::Entry(_), Value::Map(_)) => NoProjection::Entry(name.into()),
            (Reader::Entry(_), _) => NoProjection::NoObject(name.into()),
        })
    }
}

/// Reads global context entries; files are looked for in the folder of the test.
///
/// # Errors
/// See the module page.
pub fn globals(entries: &[Value], folder: &str) -> Result<Vec<Global>, MockError> {
    let mut all: Vec<Global> = Vec::new();
    for entry in entries {
        let name = entry.text_at(&["name"]);
        if name.is_empty() {
            return Err(MockError::NoName);
        }
        if all.iter().any(|g| g.name == name) {
            return Err(MockError::SameName(name.into()));
        }
        let value = global(entry, folder);
        let value = value.map_err(|cause| MockError::Global { name: name.into(), cause })?;
        all.push(Global { name: name.into(), value });
    }
    Ok(all)
}

fn global(entry: &Value, folder: &str) -> Result<Value, GlobalError> {
    let list = |key: &str| entry.get(key).and_then(Value::as_list).unwrap_or_default();
    for p in list("projections") {
        match (p.text_at(&["name"]), p.text_at(&["path"])) {
            ("", _) => return Err(GlobalError::NoProjectionName),
            (name, "") => return Err(GlobalError::NoProjectionPath(name.into())),
            _ => {}
        }
    }
    let data = entry.get("data").filter(|d| !d.is_null());
    let (resources, files) = (list("resources"), list("resourceFiles"));
    let given =
        usize::from(data.is_some()) + usize::from(!resources.is_empty()) + usize::from(!files.is_empty());
    if given > 1 {
        return Err(GlobalError::TwoSources);
    }
    let root = match data {
        Some(data @ Value::Map(_)) => data.clone(),
        Some(_) => return Err(GlobalError::Data),
        None if !resources.is_empty() => {
            if let Some(j) = resources.iter().position(|r| r.as_map().is_none()) {
                return Err(GlobalError::Resource(j));
            }
            Value::list(resources.to_vec())
        }
        None if !files.is_empty() => {
            let mut objects = Vec::new();
            for (j, file) in files.iter().enumerate() {
                let failed = |cause| GlobalError::File { at: j, cause };
                objects.extend(manifest(file.as_str().unwrap_or_default(), folder).map_err(failed)?);
            }
            Value::list(objects)
        }
        None => return Err(GlobalError::NoSource),
    };
    let query = |text: &str, on: &Value| {
        let expression = ephor_search::Expression::compile(text).map_err(GlobalError::Query)?;
        expression.search(on).map_err(GlobalError::Query)
    };
    let narrowed = match entry.text_at(&["fieldPath"]) {
        "" => root,
        path => query(path, &root)?,
    };
    if list("projections").is_empty() {
        return Ok(narrowed);
    }
    let mut projected = Map::new();
    for p in list("projections") {
        projected.insert(Str::from(p.text_at(&["name"])), query(p.text_at(&["path"]), &narrowed)?);
    }
    Ok(Value::Map(projected))
}

fn manifest(file: &str, folder: &str) -> Result<Vec<Value>, FileError> {
    let path = Path::new(file);
    if file.trim().is_empty() {
        return Err(FileError::Empty);
    }
    if path.is_absolute() {
        return Err(FileError::Absolute);
    }
    let mut depth = 0i32;
    for part in path.components() {
        depth += match part {
            Component::ParentDir => -1,
            Component::Normal(_) => 1,
            _ => 0,
        };
        if depth < 0 {
            return Err(FileError::Outside);
        }
    }
    let full = super::file::clean(&Path::new(folder).join(path));
    let text = crate::inputs::read(&full).map_err(FileError::Read)?;
    let documents = ephor_document::resources(&full, &text, ResourceOptions::default())
        .map_err(|e| FileError::Documents(e.to_string()))?;
    Ok(documents.into_iter().map(|d| d.value).collect())
}
