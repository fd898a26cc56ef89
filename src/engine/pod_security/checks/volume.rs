//! Checks of volumes.

use crate::value::Value;

use super::super::finding::{Bad, plural, quoted, sorted};
use super::super::pod::{Pod, error, present};
use super::Violation;

/// The sources that every volume may have.
const ALLOWED: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// The others, in the order in which they are looked for.
const OTHERS: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

/// No volume is a directory of the host.
pub fn host_path(pod: &Pod<'_>) -> Option<Violation> {
    let (mut names, mut errors) = (Vec::new(), Vec::new());
    for (i, volume) in pod.list(&["volumes"]).iter().enumerate() {
        if let Some(source) = present(volume, "hostPath") {
            names.push(volume.text_at(&["name"]));
            let path = source.text_at(&["path"]);
            errors.push(error(format!("spec.volumes[{i}].hostPath"), Bad::Text(path.into())));
        }
    }
    (!errors.is_empty()).then(|| Violation {
        reason: "hostPath volumes",
        detail: format!("{} {}", plural("volume", names.len()), quoted(&names)),
        errors,
    })
}

/// The kind of a volume's source when it is not an allowed one.
fn restricted_type(volume: &Value) -> Option<&'static str> {
    let has = |kind: &&str| present(volume, kind).is_some();
    if ALLOWED.iter().any(has) {
        return None;
    }
    Some(OTHERS.into_iter().find(|kind| has(kind)).unwrap_or("unknown"))
}

/// Volumes have allowed sources.
pub fn types(pod: &Pod<'_>) -> Option<Violation> {
    let (mut names, mut kinds, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for (i, volume) in pod.list(&["volumes"]).iter().enumerate() {
        if let Some(kind) = restricted_type(volume) {
            names.push(volume.text_at(&["name"]));
            kinds.push(kind);
            errors.push(error(format!("spec.volumes[{i}].{kind}"), Bad::Present));
        }
    }
    (!errors.is_empty()).then(|| {
        let kinds = sorted(kinds);
        Violation {
            reason: "restricted volume types",
            detail: format!(
                "{} {} {} {} {}",
                plural("volume", names.len()),
                quoted(&names),
                if names.len() == 1 { "uses" } else { "use" },
                plural("restricted volume type", kinds.len()),
                quoted(&kinds)
            ),
            errors,
        }
    })
}
