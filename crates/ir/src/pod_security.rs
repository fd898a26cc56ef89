//! The Pod Security Standards as rows: which fields of a pod a control is about, and what they may
//! hold.
//!
//! In: a level and a version. Out: the [`ControlVersion`]s of the controls that count there, in the
//! order of reports; each is a list of [`FieldRequirement`]s, each of which names fields and their
//! [`FieldCondition`]. `engine::pod_security` runs them and words what they find; an analysis reads
//! the same rows. Semantics: `docs/semantics/validate.md`, "Bodies".
//!
//! - `control`: the types of the Pod Security Standards' rows: controls, their versions, fields and
//!   conditions
//! - `controls`: the rows of the Pod Security controls, in the order of reports

mod control;
mod controls;

pub use control::{
    Absent, Annotations, Control, ControlVersion, Field, FieldCondition, FieldRequirement, Found, LATEST,
    Minor, Of, present, texts, whole,
};
pub use controls::CONTROLS;

/// A form of a control.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// Its position among all forms of all controls.
    pub position: usize,
    /// The control.
    pub control: &'static Control,
    /// The form.
    pub form: &'static ControlVersion,
}

/// The minor number of a version; `None` when it is neither `latest`, nor empty, nor `v1.N`.
pub fn version(text: &str) -> Option<Minor> {
    if matches!(text, "" | "latest") {
        return Some(LATEST);
    }
    let digits = text.strip_prefix("v1.")?;
    let canonical = digits == "0" || !digits.starts_with('0');
    (canonical && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// The controls of a level in the form of a version, in the order of reports. Every level but
/// `baseline` has all controls, `privileged` too (Kyverno's behaviour).
pub fn of_level(level: &str, version: Minor) -> impl Iterator<Item = Placed> {
    let all = level != "baseline";
    let mut first = 0;
    CONTROLS.iter().filter_map(move |control| {
        let start = first;
        first += control.forms.len();
        if !all && !control.baseline {
            return None;
        }
        let newest = control.forms.iter().rposition(|form| form.since <= version).unwrap_or(0);
        let form = control.forms.get(newest)?;
        Some(Placed { position: start + newest, control, form })
    })
}

/// Where the pod specification of a kind is.
pub fn pod_spec_path(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "Pod" => &["spec"],
        "Deployment" | "DaemonSet" | "ReplicaSet" | "ReplicationController" | "StatefulSet" | "Job" => {
            &["spec", "template", "spec"]
        }
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => return None,
    })
}

/// Where the annotations of the pod are that controls read, for each kind. For a CronJob it is
/// not the pod template (Kyverno's behaviour).
pub fn annotations_path(kind: &str) -> &'static [&'static str] {
    match kind {
        "Pod" => &["metadata", "annotations"],
        "CronJob" => &["spec", "jobTemplate", "metadata", "annotations"],
        _ => &["spec", "template", "metadata", "annotations"],
    }
}

/// The lists of containers, in the order in which they are visited.
pub const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// How many forms the controls have together.
pub const FORMS: usize = {
    let (mut sum, mut i) = (0, 0);
    while i < CONTROLS.len() {
        sum += CONTROLS[i].forms.len();
        i += 1;
    }
    sum
};
