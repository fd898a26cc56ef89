//! What the Pod Security checks know of one object, found once for all rules.
//!
//! In: the object of a request. Out: the object decoded as a pod or a controller, and the finding
//! of each form of each check, computed when a rule first needs it.

use std::borrow::Cow;
use std::sync::OnceLock;

use ephor_ir::check::FieldPart;
use ephor_ir::pod_security::{FORMS, Placed, annotations_path, pod_spec_path};
use ephor_kubernetes::decode::decode;
use ephor_kubernetes::schema::{TypeDef, Types};
use ephor_value::{Map, Value};

use super::checks;
use super::finding::{self, Finding, Origin};
use super::pod::Pod;

/// A finding and its part of the message.
#[derive(Clone, Debug)]
pub struct WordedFinding {
    /// The finding.
    pub finding: Finding,
    /// `(Forbidden reason: …, field error list: […])`; `None` once an exclusion took an error away.
    pub text: Option<String>,
}

/// An object that decodes.
#[derive(Debug)]
pub struct DecodedObject {
    object: Value,
    spec: &'static [&'static str],
    annotations: &'static [&'static str],
    /// How paths of fields are shown.
    pub origin: Origin,
    found: [OnceLock<Option<Box<WordedFinding>>>; FORMS],
}

/// Why an object has no pod that the checks can see; the texts are Kyverno's.
#[derive(Debug, thiserror::Error)]
pub enum UndecodedObject {
    /// Its kind has none.
    #[error("Error while getting new resource: could not find correct resource type")]
    NoPod,
    /// It is not of its type; the words are those of the decoder.
    #[error("Error while getting new resource: {0}")]
    Decode(Box<str>),
}

/// The object of a request; decoded when the first rule needs it.
#[derive(Debug, Default)]
pub struct Cache(OnceLock<Result<Box<DecodedObject>, UndecodedObject>>);

impl Cache {
    /// The object, decoded.
    ///
    /// # Errors
    /// See [`UndecodedObject`].
    pub fn get(&self, object: &Value) -> Result<&DecodedObject, &UndecodedObject> {
        self.0.get_or_init(|| see(object).map(Box::new)).as_deref()
    }
}

fn origin(kind: &str) -> Origin {
    match kind {
        "Pod" => Origin::Pod,
        "CronJob" => Origin::CronJob,
        _ => Origin::Template,
    }
}

/// The type that a kind of object is decoded as. All controllers but CronJobs are taken for
/// Deployments (Kyverno's behaviour): only their errors can show it.
pub fn type_of(kind: &str) -> Option<&'static TypeDef> {
    let name = match kind {
        "Pod" => "core/v1.Pod",
        "CronJob" => "batch/v1.CronJob",
        "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" | "ReplicationController" | "Job" => {
            "apps/v1.Deployment"
        }
        _ => return None,
    };
    Types::built_in().named(name).map(|def| &**def)
}

fn see(object: &Value) -> Result<DecodedObject, UndecodedObject> {
    let kind = object.text_at(&["kind"]);
    let (Some(spec), Some(def)) = (pod_spec_path(kind), type_of(kind)) else {
        return Err(UndecodedObject::NoPod);
    };
    let object = decode(object, def, Types::built_in())
        .map_err(|e| UndecodedObject::Decode(e.to_string().into()))?
        .into_owned();
    let (annotations, origin) = (annotations_path(kind), origin(kind));
    Ok(DecodedObject { object, spec, annotations, origin, found: [const { OnceLock::new() }; FORMS] })
}

impl DecodedObject {
    /// The pod.
    pub fn pod(&self) -> Pod<'_> {
        let spec = self.object.at(self.spec).unwrap_or(&Value::Null);
        let annotations: Option<&Map> = self.object.at(self.annotations).and_then(Value::as_map);
        Pod::new(spec, annotations)
    }

    /// What controls find, or one field of them, in their order.
    pub fn found(
        &self,
        controls: impl Iterator<Item = Placed>,
        only: Option<FieldPart>,
    ) -> Vec<Cow<'_, WordedFinding>> {
        let pod = self.pod();
        let shown = |finding: Finding| {
            let mut text = String::new();
            finding::write(&mut text, &finding, self.origin);
            WordedFinding { finding, text: Some(text) }
        };
        if only.is_some() {
            return controls
                .filter_map(|placed| Some(Cow::Owned(shown(checks::run(&placed, &pod, only)?))))
                .collect();
        }
        controls
            .filter_map(|placed| {
                let found = self.found.get(placed.position)?;
                let found = found.get_or_init(|| checks::run(&placed, &pod, None).map(shown).map(Box::new));
                found.as_deref().map(Cow::Borrowed)
            })
            .collect()
    }
}
