//! `validate.manifests` → [`Manifests`]. Variables are not filled in here, as in the reference.

use ephor_api::lint::attestor_set_problem;
use ephor_ir::manifests::{AttestorSet, Ignored, ManifestAttestor, Manifests, Objects, Proof, public_keys};
use ephor_value::wildcard::Wildcard;
use ephor_value::{Str, Value, print};

/// Lowers what a rule wants of the manifest.
pub fn manifests(m: &Value) -> Manifests {
    let domain = Some(m.text_at(&["annotationDomain"])).filter(|s| !s.is_empty());
    Manifests {
        attestors: list(m, "attestors").iter().map(set).collect(),
        domain: domain.unwrap_or("cosign.sigstore.dev").into(),
        ignored: list(m, "ignoreFields").iter().map(ignored).collect(),
        repository: m.text_at(&["repository"]).into(),
    }
}

fn list<'v>(of: &'v Value, key: &str) -> &'v [Value] {
    of.get(key).and_then(Value::as_list).unwrap_or_default()
}

fn set(set: &Value) -> AttestorSet {
    let entries: Box<[ManifestAttestor]> = list(set, "entries").iter().flat_map(attestors).collect();
    let count = match set.get("count") {
        Some(Value::Int(n)) => usize::try_from(*n).ok(),
        _ => None,
    };
    AttestorSet { required: count.filter(|n| *n > 0).unwrap_or(entries.len()), entries }
}

/// An entry with several public keys is one attestor a key.
fn attestors(entry: &Value) -> Vec<ManifestAttestor> {
    let keys = public_keys(entry.text_at(&["keys", "publicKeys"]));
    let proofs = if keys.is_empty() {
        vec![proof(entry)]
    } else {
        keys.into_iter().map(|key| Proof::Key(key.into())).collect()
    };
    let annotations = entry.get("annotations").and_then(Value::as_map).cloned().unwrap_or_default();
    let repository = Str::from(entry.text_at(&["repository"]));
    let attestor =
        |proof| ManifestAttestor { proof, annotations: annotations.clone(), repository: repository.clone() };
    proofs.into_iter().map(attestor).collect()
}

fn proof(entry: &Value) -> Proof {
    if let Some(nested) = entry.get("attestor").filter(|v| !v.is_null()) {
        return match attestor_set_problem(nested) {
            None => Proof::Nested(set(nested)),
            Some(cause) => {
                let raw = print::json(nested);
                Proof::Unreadable(format!("failed to unmarshal attestor set {raw}: {cause}").into())
            }
        };
    }
    match ["keys", "certificates", "keyless"].into_iter().find(|k| entry.get(k).is_some()) {
        Some("certificates") => {
            Proof::Certificate { own: !entry.text_at(&["certificates", "cert"]).is_empty() }
        }
        Some("keyless") => Proof::Keyless,
        _ => match entry.text_at(&["keys", "publicKeys"]) {
            "" => Proof::KeyElsewhere,
            key => Proof::Key(key.into()),
        },
    }
}

fn ignored(entry: &Value) -> Ignored {
    let fields = list(entry, "fields").iter().filter_map(Value::as_str).map(Str::from);
    Ignored { objects: list(entry, "objects").iter().map(objects).collect(), fields: fields.collect() }
}

fn objects(o: &Value) -> Objects {
    let part = |key: &str| Some(o.text_at(&[key])).filter(|s| !s.is_empty()).map(Wildcard::new);
    Objects {
        group: part("group"),
        version: part("version"),
        kind: part("kind"),
        name: part("name"),
        namespace: part("namespace"),
    }
}
