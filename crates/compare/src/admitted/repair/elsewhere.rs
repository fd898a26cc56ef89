//! Objects that an API server refuses for something elsewhere in them, with what it wants there:
//! the volume of a mount, the privileges of a container whose mounts propagate, the type of a
//! Service with ports of nodes.
//!
//! In: an object, and the path of the field for which it is refused. Out: the object with what goes
//! with the field. Source: the checks of `kubernetes::admitted`, which are recorded from an API
//! server.

use ephor_document::json::parse as parse_json;
use ephor_value::Value;
use ephor_value::place::{Path, PathPart, follow, parse};

use crate::admitted::repair::with;
use crate::model::path::put;

/// The end of the path of a field, `[0]` for any item; what is set, from where this end begins; and
/// its value.
const TOGETHER: [(&str, &str, &str); 11] = [
    ("volumeMounts[0].mountPropagation", "securityContext.privileged", "true"),
    ("containers[0].securityContext.procMount", "hostUsers", "false"),
    ("initContainers[0].securityContext.procMount", "hostUsers", "false"),
    ("livenessProbe", "restartPolicy", "\"Always\""),
    ("readinessProbe", "restartPolicy", "\"Always\""),
    ("startupProbe", "restartPolicy", "\"Always\""),
    ("lifecycle", "restartPolicy", "\"Always\""),
    ("dnsConfig.nameservers", "dnsConfig.nameservers", "[\"192.0.2.1\"]"),
    ("ports[0].nodePort", "type", "\"NodePort\""),
    ("volumes[0].projected.sources", "serviceAccountName", "\"a\""),
    ("local", "nodeAffinity", "{}"),
];

/// The end of the path of what has the name of a volume, and a source that such volumes have.
const VOLUMES: [(&str, &str); 2] = [
    ("volumeMounts[0].name", "{\"emptyDir\":{}}"),
    ("volumeDevices[0].name", "{\"persistentVolumeClaim\":{\"claimName\":\"a\"}}"),
];

/// The object with what goes with a field; `None`: it has that, or nothing is known to go with it.
pub(crate) fn completed(object: &Value, path: &Path) -> Option<Value> {
    let set = |(end, target, value): &(&str, &str, &str)| {
        let mut place = before(path, &parse(end))?.to_vec();
        place.extend(parse(target));
        let value = parse_json(value).ok()?;
        let (found, steps) = follow(object, &place);
        let is_there = steps == place.len() && found.json_eq(&value);
        if is_there { None } else { put(object, &place, value) }
    };
    let volume = |(end, source): &(&str, &str)| {
        // The list of containers, and the item.
        let container = before(path, &parse(end))?;
        let mut place = container.get(..container.len().checked_sub(2)?)?.to_vec();
        place.push(PathPart::Key("volumes".into()));
        let (Value::Str(name), steps) = follow(object, path) else { return None };
        if steps < path.len() {
            return None;
        }
        let source = parse_json(source).ok()?;
        let new = source.with("name", Value::Str(name.clone()));
        let (volumes, steps) = follow(object, &place);
        let all = volumes.as_list().filter(|_| steps == place.len()).unwrap_or_default();
        match all.iter().position(|volume| volume.text_at(&["name"]) == &**name) {
            Some(at) if all.get(at)?.json_eq(&new) => None,
            Some(at) => {
                place.push(PathPart::Index(at));
                with(object, &place, Some(new))
            }
            None => put(object, &place, Value::list(all.iter().cloned().chain([new]).collect())),
        }
    };
    TOGETHER.iter().find_map(set).or_else(|| VOLUMES.iter().find_map(volume))
}

/// What is in front of an end of a path, which may be at another item.
fn before<'p>(path: &'p [PathPart], end: &[PathPart]) -> Option<&'p [PathPart]> {
    let (front, own) = path.split_at_checked(path.len().checked_sub(end.len())?)?;
    let is_like = |(a, b): (&PathPart, &PathPart)| match (a, b) {
        (PathPart::Index(_), PathPart::Index(_)) => true,
        (PathPart::Key(a), PathPart::Key(b)) => a == b,
        _ => false,
    };
    own.iter().zip(end).all(is_like).then_some(front)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admitted::repair::mended;

    #[test]
    fn what_goes_with_a_field_elsewhere_is_added() {
        let pod = |container: &str, rest: &str| {
            let text = format!(
                "{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{containers: [{{name: a, image: a, {container}}}]{rest}}}}}"
            );
            ephor_document::yaml_value(&text).unwrap()
        };
        let of = |object: &Value, path: &[&str]| {
            ephor_value::print::json(mended(object, true).unwrap().at(path).unwrap())
        };
        let mounts = "volumeMounts: [{name: x, mountPath: /x, mountPropagation: Bidirectional}]";
        assert_eq!(of(&pod(mounts, ""), &["spec", "volumes"]), r#"[{"emptyDir":{},"name":"x"}]"#);
        assert!(of(&pod(mounts, ""), &["spec", "containers"]).contains(r#""privileged":true"#));
        let device = "volumeDevices: [{name: x, devicePath: /x}]";
        let claim = r#"[{"name":"x","persistentVolumeClaim":{"claimName":"a"}}]"#;
        assert_eq!(of(&pod(device, ", volumes: [{name: x, emptyDir: {}}]"), &["spec", "volumes"]), claim);
        let init = ", initContainers: [{name: b, image: b, livenessProbe: {exec: {command: [a]}}}]";
        assert!(of(&pod("", init), &["spec", "initContainers"]).contains(r#""restartPolicy":"Always""#));
        assert!(of(&pod("", ", dnsPolicy: None"), &["spec", "dnsConfig"]).contains("192.0.2.1"));
        let unmasked = pod("securityContext: {procMount: Unmasked}", "");
        assert_eq!(of(&unmasked, &["spec", "hostUsers"]), "false");
    }
}
