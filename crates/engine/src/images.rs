//! The image references of an object, as the variable `images` shows them.
//!
//! In: an object. Out: `images.<list>.<container>` with the parts of each reference, or the text of
//! the first reference that is none. Computed when an expression first mentions it. The semantics'
//! source is `docs/semantics/variables.md`.

use ephor_ir::pod_security::pod_spec_path;
use ephor_value::image::ImageRef;
use ephor_value::{Map, Str, Value};
use std::sync::OnceLock;

/// Why the images of an object cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// A container has no name.
    #[error("invalid key")]
    NoName,
    /// An image is no reference.
    #[error("invalid image '{image}' ({text})")]
    Reference {
        /// The image.
        image: Box<str>,
        /// Why, in the words of the parser of references.
        text: Box<str>,
    },
}

/// The images of one object, computed when first read.
#[derive(Clone, Debug, Default)]
pub struct Images {
    object: Value,
    registry: String,
    mutate: bool,
    found: OnceLock<Result<Option<Value>, ImageError>>,
}

impl Images {
    /// The images of `object`.
    pub fn of(object: Value, functions: &ephor_functions::Context) -> Images {
        Images {
            object,
            registry: functions.default_registry.clone(),
            mutate: functions.mutate_registry,
            found: OnceLock::new(),
        }
    }

    /// The images by list and container; `None` when there are none.
    ///
    /// # Errors
    /// An image is no reference, or a container has no name.
    pub fn get(&self) -> &Result<Option<Value>, ImageError> {
        self.found.get_or_init(|| self.compute())
    }

    fn compute(&self) -> Result<Option<Value>, ImageError> {
        let Some(path) = pod_spec_path(self.object.text_at(&["kind"])) else { return Ok(None) };
        let Some(spec) = self.object.at(path) else { return Ok(None) };
        let mut lists = Map::new();
        for list in ["initContainers", "containers", "ephemeralContainers"] {
            let items = spec.get(list).and_then(Value::as_list).unwrap_or_default();
            let mut images = Map::new();
            for (i, container) in items.iter().enumerate() {
                if container.as_map().is_none() {
                    continue;
                }
                let Some(name) = container.get("name").and_then(Value::as_str) else {
                    return Err(ImageError::NoName);
                };
                let image = container.text_at(&["image"]).trim();
                if image.is_empty() {
                    continue;
                }
                let parsed = ImageRef::parse(image, &self.registry, self.mutate)
                    .map_err(|e| ImageError::Reference { image: image.into(), text: e.to_string().into() })?;
                let pointer = format!("/{}/{list}/{i}/image", path.join("/"));
                images.insert(name, info(&parsed, pointer));
            }
            if !images.is_empty() {
                lists.insert(list, Value::Map(images));
            }
        }
        Ok((!lists.is_empty()).then_some(Value::Map(lists)))
    }
}

/// The parts of a reference; empty ones that may be absent are left out.
fn info(image: &ImageRef, pointer: String) -> Value {
    let optional = |s: &str| (!s.is_empty()).then(|| Value::from(s));
    let fields = [
        ("registry", optional(&image.registry)),
        ("path", Some(Value::from(&*image.path))),
        ("name", Some(Value::from(&*image.name))),
        ("tag", optional(&image.tag)),
        ("digest", optional(&image.digest)),
        ("reference", Some(Value::from(image.reference()))),
        ("referenceWithTag", Some(Value::from(image.reference_with_tag()))),
        ("jsonPointer", Some(Value::from(pointer))),
    ];
    Value::Map(fields.into_iter().filter_map(|(k, v)| Some((Str::from(k), v?))).collect())
}
