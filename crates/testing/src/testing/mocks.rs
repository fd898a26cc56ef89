//! Mocked API calls and global context entries of a test file.
//!
//! In: entries as written. Out: what rules read, or Kyverno's text for the first entry that is
//! not well-formed. Semantics: `docs/test.md`, "Data of rules".

use std::collections::HashMap;
use std::path::{Component, Path};

use crate::document::{self, ResourceOptions};
use crate::external::Reader;
use crate::search;
use crate::value::{Map, Str, Value};

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
    pub fn for_entry(&self, entry: &str) -> Result<Value, String> {
        if (200..300).contains(&self.status) {
            return Ok(self.body.clone());
        }
        Err(format!(
            "HTTP {} from apiCall mock for context entry \"{entry}\" (v1 apiCall treats non-2xx as failure)",
            self.status
        ))
    }
}

/// Reads answers: by `METHOD:url`, or `url` where there is no method.
///
/// # Errors
/// See the module page.
pub fn answers(entries: &[Value]) -> Result<HashMap<String, Answer>, String> {
    let mut all = HashMap::new();
    for (i, entry) in entries.iter().enumerate() {
        let at = format!("apiCallResponses[{i}]");
        let (url, path) = (entry.text_at(&["url"]), entry.text_at(&["urlPath"]));
        let place = match (url, path) {
            ("", "") => return Err(format!("{at}: either url or urlPath is required")),
            ("", path) if !path.starts_with('/') => {
                return Err(format!("{at}: urlPath \"{path}\" must be an absolute path starting with '/'"));
            }
            ("", path) => path,
            (url, "") => check_url(url).map_err(|e| format!("{at}: {e}"))?,
            _ => return Err(format!("{at}: url and urlPath are mutually exclusive")),
        };
        let method = entry.text_at(&["method"]).to_uppercase();
        if !matches!(&*method, "" | "GET" | "POST") {
            return Err(format!("{at}: method must be GET or POST"));
        }
        let named = format!("{at} \"{place}\"");
        let body = entry.at(&["response", "body"]).cloned().unwrap_or_default();
        match body {
            Value::Null => return Err(format!("{named}: response.body is required")),
            Value::Map(_) => {}
            _ => return Err(format!("{named}: response.body must be a JSON object")),
        }
        let status = match entry.at(&["response", "statusCode"]) {
            Some(Value::Int(0)) | Some(Value::Null) | None => 200,
            Some(Value::Int(n)) => *n,
            Some(_) => i64::MAX,
        };
        if !(100..600).contains(&status) {
            return Err(format!("{named}: statusCode {status} must be between 100 and 599"));
        }
        let key = if method.is_empty() { place.to_owned() } else { format!("{method}:{place}") };
        if all.insert(key.clone(), Answer { status, body }).is_some() {
            return Err(format!(
                "apiCallResponses: duplicate entry for \"{place}\" (key \"{key}\") — each method+url combination must be unique"
            ));
        }
    }
    Ok(all)
}

fn check_url(url: &str) -> Result<&str, String> {
    match url.split_once("://") {
        Some(("http" | "https", "")) => Err(format!("url \"{url}\" has scheme but no host")),
        Some(("http" | "https", rest)) if rest.starts_with('/') => {
            Err(format!("url \"{url}\" has scheme but no host"))
        }
        Some(("http" | "https", _)) => Ok(url),
        _ => Err(format!("url \"{url}\" must be an absolute https/http URL")),
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
    pub fn projection(&self, name: &str, by: Reader<'_>) -> Result<Value, String> {
        if name.is_empty() {
            return Ok(self.value.clone());
        }
        self.value.get(name).cloned().ok_or_else(|| match (by, &self.value) {
            (Reader::Expression, _) => {
                format!("projection \"{name}\" not found in global context entry \"{}\"", self.name)
            }
            (Reader::Entry(_), Value::Map(_)) => {
                format!("global context mock: projection \"{name}\" not found")
            }
            (Reader::Entry(_), _) => {
                format!("global context mock: projection \"{name}\" requested but value is not an object")
            }
        })
    }
}

/// Reads global context entries; files are looked for in the folder of the test.
///
/// # Errors
/// See the module page.
pub fn globals(entries: &[Value], folder: &str) -> Result<Vec<Global>, String> {
    let mut all: Vec<Global> = Vec::new();
    for entry in entries {
        let name = entry.text_at(&["name"]);
        if name.is_empty() {
            return Err("globalContextEntries: name is required".into());
        }
        if all.iter().any(|g| g.name == name) {
            return Err(format!("globalContextEntries: duplicate name \"{name}\""));
        }
        let value = global(entry, folder).map_err(|e| format!("globalContextEntries entry \"{name}\"{e}"))?;
        all.push(Global { name: name.into(), value });
    }
    Ok(all)
}

fn global(entry: &Value, folder: &str) -> Result<Value, String> {
    let list = |key: &str| entry.get(key).and_then(Value::as_list).unwrap_or_default();
    for p in list("projections") {
        match (p.text_at(&["name"]), p.text_at(&["path"])) {
            ("", _) => return Err(": projection name is required".into()),
            (name, "") => return Err(format!(" projection \"{name}\": path is required")),
            _ => {}
        }
    }
    let data = entry.get("data").filter(|d| !d.is_null());
    let (resources, files) = (list("resources"), list("resourceFiles"));
    let given =
        usize::from(data.is_some()) + usize::from(!resources.is_empty()) + usize::from(!files.is_empty());
    if given > 1 {
        return Err(": data, resources, and resourceFiles are mutually exclusive".into());
    }
    let root = match data {
        Some(data @ Value::Map(_)) => data.clone(),
        Some(_) => return Err(": data must be a JSON object".into()),
        None if !resources.is_empty() => {
            if let Some(j) = resources.iter().position(|r| r.as_map().is_none()) {
                return Err(format!(" resources[{j}]: must be a JSON object (Kubernetes resource manifest)"));
            }
            Value::list(resources.to_vec())
        }
        None if !files.is_empty() => {
            let mut objects = Vec::new();
            for (j, file) in files.iter().enumerate() {
                let failed = |why: String| format!(" resourceFiles[{j}]: {why}");
                objects.extend(manifest(file.as_str().unwrap_or_default(), folder).map_err(failed)?);
            }
            Value::list(objects)
        }
        None => return Err(": one of data, resources, or resourceFiles is required".into()),
    };
    let query = |text: &str, on: &Value| {
        let expression = search::Expression::compile(text).map_err(|e| format!(": {e}"))?;
        expression.search(on).map_err(|e| format!(": {e}"))
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

fn manifest(file: &str, folder: &str) -> Result<Vec<Value>, String> {
    let path = Path::new(file);
    if file.trim().is_empty() {
        return Err("file path must not be empty".into());
    }
    if path.is_absolute() {
        return Err("file path must not be absolute".into());
    }
    let mut depth = 0i32;
    for part in path.components() {
        depth += match part {
            Component::ParentDir => -1,
            Component::Normal(_) => 1,
            _ => 0,
        };
        if depth < 0 {
            return Err("file path must not escape the test directory".into());
        }
    }
    let full = super::file::clean(&Path::new(folder).join(path));
    let text = crate::inputs::read(&full)?;
    let documents = document::resources(&full, &text, ResourceOptions::default()).map_err(|e| e.message)?;
    Ok(documents.into_iter().map(|d| d.value).collect())
}
