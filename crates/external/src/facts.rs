//! Facts about an image: its manifest and its configuration.
//!
//! In: a reference. Out: the object that expressions see (`getImageData`, `image.getMetadata`), or
//! the one that context entries of rules see (`imageRegistry`).

use crate::reference;
use crate::registry::{Failure, Manifest, Registry, Repository, place};
use ephor_document::decode_json;
use ephor_value::{Map, Str, Value};

/// The largest configuration of an image.
const MAX_CONFIG: u64 = 8 * 1024 * 1024;

/// An image of which everything was read.
struct PulledImage {
    at: Repository,
    by: String,
    digest: String,
    /// The list of platforms, where there is one.
    index: Value,
    manifest: Value,
    config: Value,
}

fn read(registry: &dyn Registry, reference: &str) -> Result<PulledImage, Failure> {
    let (at, by) = place(reference)?;
    let top = registry.manifest(&at, &by)?;
    let digest = top.digest.clone();
    let (index, manifest) = match top.is_index() {
        true => {
            let index = top.read()?;
            let own = of_platform(&index)
                .ok_or_else(|| Failure::other("no child with platform linux/amd64 in index"))?;
            (index, registry.manifest(&at, &own)?)
        }
        false => (Value::Null, top),
    };
    let manifest = manifest.read()?;
    let config = config(registry, &at, &manifest)?;
    Ok(PulledImage { at, by, digest, index, manifest, config })
}

/// The digest of the image for the platform that is read.
fn of_platform(index: &Value) -> Option<String> {
    let all = index.get("manifests").and_then(Value::as_list).unwrap_or_default();
    let fits = |m: &&Value| {
        m.text_at(&["platform", "architecture"]) == "amd64" && m.text_at(&["platform", "os"]) == "linux"
    };
    all.iter().find(fits).map(|m| m.text_at(&["digest"]).to_owned())
}

fn config(registry: &dyn Registry, at: &Repository, manifest: &Value) -> Result<Value, Failure> {
    let bytes = registry.blob(at, manifest.text_at(&["config", "digest"]), MAX_CONFIG)?;
    Ok(decode_json(&String::from_utf8_lossy(&bytes))?)
}

/// The digest of an image.
///
/// # Errors
/// It cannot be fetched.
pub fn digest(registry: &dyn Registry, reference: &str) -> Result<String, Failure> {
    let (at, by) = place(reference)?;
    registry.manifest(&at, &by).map(|m: Manifest| m.digest)
}

fn object(fields: Vec<(&str, Value)>) -> Value {
    Value::Map(fields.into_iter().map(|(k, v)| (Str::from(k), v)).collect())
}

/// What context entries see.
///
/// # Errors
/// It cannot be fetched.
pub fn for_rules(registry: &dyn Registry, reference: &str) -> Result<Value, Failure> {
    let PulledImage { at, by, digest, index, manifest, config } = read(registry, reference)?;
    // A digest is cut off behind the first colon of the whole text, as Kyverno does it.
    let identifier = match by.starts_with("sha256:") {
        true => reference.split_once(':').map_or(&*by, |(_, rest)| rest).to_owned(),
        false => by,
    };
    Ok(object(vec![
        ("image", Value::from(reference)),
        ("resolvedImage", Value::from(format!("{at}@{digest}"))),
        ("registry", Value::from(at.registry)),
        ("repository", Value::from(at.path)),
        ("identifier", Value::from(identifier)),
        ("manifestList", index),
        ("manifest", manifest),
        ("configData", config),
    ]))
}

/// What expressions see. Numbers are doubles.
///
/// # Errors
/// It cannot be fetched.
pub fn for_expressions(registry: &dyn Registry, reference: &str) -> Result<Value, Failure> {
    let PulledImage { at, by, digest, index, manifest, config } = read(registry, reference)?;
    let tag = reference::parse(reference).map_or("", |r| r.tag).to_owned();
    let shown = if tag.is_empty() { String::new() } else { format!(":{tag}") };
    let mut fields = vec![
        ("image", Value::from(reference)),
        ("resolvedImage", Value::from(format!("{at}{shown}@{digest}"))),
        ("registry", Value::from(at.registry)),
        ("repository", Value::from(at.path)),
        ("identifier", Value::from(by)),
    ];
    if !tag.is_empty() {
        fields.push(("tag", Value::from(tag)));
    }
    fields.push(("digest", Value::from(digest)));
    if !index.is_null() {
        fields.push(("imageIndex", index));
    }
    fields.push(("manifest", typed(&manifest, &MANIFEST)));
    fields.push(("config", with_times(typed(&config, &CONFIG))));
    Ok(object(fields).with_float_numbers())
}

const MANIFEST: [&str; 6] = ["schemaVersion", "mediaType", "config", "layers", "annotations", "subject"];
const CONFIG: [&str; 12] = [
    "architecture",
    "author",
    "container",
    "created",
    "docker_version",
    "history",
    "os",
    "rootfs",
    "config",
    "os.version",
    "variant",
    "os.features",
];
/// The time of an image that has none.
const NO_TIME: &str = "0001-01-01T00:00:00Z";

/// Only what the type has.
fn typed(v: &Value, known: &[&str]) -> Value {
    let entries = v.as_map().into_iter().flat_map(Map::iter);
    let selected = entries.filter(|(k, v)| known.contains(&&***k) && !v.is_null());
    Value::Map(selected.map(|(k, v)| (k.clone(), v.clone())).collect())
}

/// Times are always there.
fn with_times(config: Value) -> Value {
    let timed = |v: &Value| {
        let mut m = v.as_map().cloned().unwrap_or_default();
        if m.get("created").is_none() {
            m.insert("created", Value::from(NO_TIME));
        }
        m
    };
    let mut m = timed(&config);
    if let Some(history) = m.get("history").and_then(Value::as_list) {
        let history = history.iter().map(|h| Value::Map(timed(h))).collect();
        m.insert("history", Value::list(history));
    }
    Value::Map(m)
}
