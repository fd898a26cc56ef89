//! Digests of tags: `ephor.lock`.
//!
//! In: the text of the file, or references with their digests. Out: pins, or the text. A tag that
//! the file pins always means the pinned digest, wherever the tag has moved. Format:
//! `docs/reference/config.md`, "ephor.lock".

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use ephor_value::Value;

use super::error::{BundleError, LockProblem};
use super::reference::BundleReference;

/// The name of the file.
pub const NAME: &str = "ephor.lock";
/// The largest file.
const MAX_LOCK: u64 = 1024 * 1024;
const HEAD: &str = "# Digests of bundles; `ephor bundle lock` writes this file.\n";

/// Pins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleLock {
    /// The file as it is named in messages.
    name: String,
    /// Digests by references with their tags.
    pins: BTreeMap<String, String>,
}

impl BundleLock {
    /// The pins of a file; none of one that is not there.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn read(path: &Path) -> Result<BundleLock, BundleError> {
        let name = path.display().to_string();
        let wrong = |problem| BundleError::Lock { place: name.clone(), problem };
        let mut text = String::new();
        let read = File::open(path).and_then(|file| file.take(MAX_LOCK + 1).read_to_string(&mut text));
        match read {
            Ok(_) if text.len() as u64 > MAX_LOCK => Err(wrong(LockProblem::TooLarge(MAX_LOCK))),
            Ok(_) => BundleLock::parse(&name, &text),
            Err(cause) if cause.kind() == ErrorKind::NotFound => {
                Ok(BundleLock { name, ..BundleLock::default() })
            }
            Err(cause) => Err(wrong(LockProblem::Unread(cause))),
        }
    }

    /// The pins of a text; the name is for messages.
    ///
    /// # Errors
    /// It has another form. What is not understood is refused: a pin that is overlooked is none.
    pub fn parse(name: &str, text: &str) -> Result<BundleLock, BundleError> {
        let wrong = |entry: Option<usize>, problem| {
            let place = entry.map_or_else(|| name.to_owned(), |at| format!("{name}: bundles[{at}]"));
            BundleError::Lock { place, problem }
        };
        let form = |entry, text| Err(wrong(entry, LockProblem::Form(text)));
        let read = ephor_document::yaml_value_strict(text).map_err(|e| wrong(None, LockProblem::Yaml(e)))?;
        let mut pins = BTreeMap::new();
        let fields = match &read {
            Value::Null => return Ok(BundleLock { name: name.into(), pins }),
            read => read.as_map(),
        };
        let Some(fields) = fields.filter(|fields| fields.iter().all(|(key, _)| **key == *"bundles")) else {
            return form(None, "want an object with the key `bundles`");
        };
        let Some(entries) = fields.get("bundles").and_then(Value::as_list) else {
            return form(None, "`bundles` is no list");
        };
        for (at, entry) in entries.iter().enumerate() {
            let keys = entry.as_map().map(|fields| fields.iter().map(|(key, _)| &**key).collect::<Vec<_>>());
            let keys = keys.unwrap_or_default();
            if keys.len() != 2 || !["reference", "digest"].iter().all(|key| keys.contains(key)) {
                return form(Some(at), "want an object with the keys `reference` and `digest`");
            }
            let (reference, digest) = (entry.text_at(&["reference"]), entry.text_at(&["digest"]));
            let pinnable = BundleReference::parse(reference).ok().and_then(|one| one.pinnable());
            let Some(pinnable) = pinnable else {
                return form(Some(at), "`reference` is no reference of a bundle with a tag");
            };
            let pinned = BundleReference::parse(&format!("{}@{digest}", pinnable));
            if pinned.map_or(true, |one| one.digest.is_none()) {
                return form(Some(at), "`digest` is no digest: want sha256: and 64 hexadecimal digits");
            }
            if pins.insert(pinnable, digest.to_owned()).is_some() {
                return form(Some(at), "it is pinned twice");
            }
        }
        Ok(BundleLock { name: name.into(), pins })
    }

    /// The file as messages name it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether nothing is pinned.
    pub fn is_empty(&self) -> bool {
        self.pins.is_empty()
    }

    /// The digest of a tag.
    pub fn digest(&self, reference: &BundleReference) -> Option<&str> {
        self.pins.get(&reference.pinnable()?).map(String::as_str)
    }

    /// Pins a tag; the digest that was pinned before.
    pub fn pin(&mut self, reference: &BundleReference, digest: &str) -> Option<String> {
        self.pins.insert(reference.pinnable()?, digest.into())
    }

    /// The references that are pinned, with their digests, in order.
    pub fn pins(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pins.iter().map(|(reference, digest)| (&**reference, &**digest))
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let entries = self.pins.iter().map(|(reference, digest)| {
            // Neither has characters that mean something to YAML.
            format!("- reference: {reference}\n  digest: {digest}\n")
        });
        match entries.collect::<String>() {
            none if none.is_empty() => format!("{HEAD}bundles: []\n"),
            entries => format!("{HEAD}bundles:\n{entries}"),
        }
    }
}

/// The JSON schema of the file.
pub fn schema() -> Value {
    let text = |pattern: &str, about: &str| {
        Value::map([("type", "string".into()), ("pattern", pattern.into()), ("description", about.into())])
    };
    let object = |properties: Value, required: Vec<Value>| {
        Value::map([
            ("type", "object".into()),
            ("additionalProperties", Value::Bool(false)),
            ("required", Value::list(required)),
            ("properties", properties),
        ])
    };
    let entry = object(
        Value::map([
            ("reference", text("^oci://[^@]+$", "reference of a bundle with its tag")),
            ("digest", text("^sha256:[0-9a-f]{64}$", "digest of the manifest that the tag means")),
        ]),
        vec!["reference".into(), "digest".into()],
    );
    let bundles = Value::map([("type", "array".into()), ("items", entry)]);
    let whole = object(Value::map([("bundles", bundles)]), vec!["bundles".into()]);
    whole.with("$schema", "https://json-schema.org/draft/2020-12/schema".into()).with("title", NAME.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn reference(text: &str) -> BundleReference {
        BundleReference::parse(text).unwrap()
    }

    #[test]
    fn what_is_written_is_read_back_in_the_order_of_references() {
        let mut lock = BundleLock { name: NAME.into(), ..BundleLock::default() };
        assert_eq!(BundleLock::parse(NAME, &lock.text()).unwrap(), lock);
        for text in ["oci://ghcr.io/b/c:v2", "oci://ghcr.io/a/b", "oci://localhost:5000/dd:1"] {
            assert_eq!(lock.pin(&reference(text), DIGEST), None);
        }
        let text = lock.text();
        assert_eq!(BundleLock::parse(NAME, &text).unwrap(), lock);
        let (a, b) = (text.find("ghcr.io/a/b:latest").unwrap(), text.find("ghcr.io/b/c:v2").unwrap());
        assert!(a < b, "{text}");
        assert_eq!(lock.digest(&reference("oci://ghcr.io/a/b:latest")), Some(DIGEST));
        assert_eq!(lock.digest(&reference("oci://ghcr.io/a/b:v1")), None);
        assert_eq!(lock.digest(&reference(&format!("oci://ghcr.io/a/b@{DIGEST}"))), None);
        assert_eq!(lock.pins().count(), 3);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let one = |fields: &str| format!("bundles:\n- {{{fields}}}\n");
        for text in [
            "bundle: []\n".to_string(),
            "- a\n".into(),
            "bundles: {}\n".into(),
            "bundles: []\nbundles: []\n".into(),
            one("reference: 'oci://ghcr.io/a:1'"),
            one(&format!("reference: 'oci://ghcr.io/a:1', digest: '{DIGEST}', mode: soft")),
            one("reference: 'oci://ghcr.io/a:1', digest: 'sha256:12'"),
            one(&format!("reference: 'oci://ghcr.io/a@{DIGEST}', digest: '{DIGEST}'")),
            format!(
                "bundles:\n{0}{0}",
                format!("- {{reference: 'oci://ghcr.io/aa:1', digest: '{DIGEST}'}}\n")
            ),
        ] {
            let refused = BundleLock::parse(NAME, &text);
            assert!(refused.is_err_and(|e| e.to_string().starts_with(NAME)), "{text}");
        }
    }
}
