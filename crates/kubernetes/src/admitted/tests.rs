#![allow(clippy::unwrap_used)]

use super::*;
use ephor_value::print;

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn answer(object: &Value) -> Result<Value, String> {
    admitted(&kind_of(object).unwrap(), object).unwrap().map_err(|r| r.to_string())
}

/// The kinds of which there are facts.
fn kinds() -> Vec<[Str; 3]> {
    let all = crate::Kinds::built_in().all().iter();
    all.map(|r| r.kind_of("").unwrap()).filter(|kind| smallest(kind).is_some()).collect()
}

#[test]
fn the_smallest_object_of_each_kind_is_admitted_and_its_form_is_stable() {
    let kinds = kinds();
    assert_eq!(kinds.len(), 28);
    for kind in kinds {
        let form = answer(&smallest(&kind).unwrap()).unwrap_or_else(|e| panic!("{kind:?}: {e}"));
        assert_eq!(form.text_at(&["kind"]), &*kind[2]);
    }
}

#[test]
fn a_pod_is_seen_with_defaults_and_what_plugins_write() {
    let pod = read(
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{}},"nonsense":1,
        "spec":{"containers":[{"name":"a","image":"a:1","args":[],"ports":[{"containerPort":80,"hostPort":0}]}]}}"#,
    );
    let form = answer(&pod).unwrap();
    assert_eq!(form.text_at(&["metadata", "namespace"]), "default");
    assert!(form.at(&["metadata", "labels"]).is_none() && form.get("nonsense").is_none());
    let container = &form.at(&["spec", "containers"]).unwrap().as_list().unwrap()[0];
    let wanted = read(
        r#"{"name":"a","image":"a:1","imagePullPolicy":"IfNotPresent","resources":{},
        "ports":[{"containerPort":80,"protocol":"TCP"}],"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}"#,
    );
    assert!(container.json_eq(&wanted), "{container:?}");
    assert_eq!(form.at(&["spec", "tolerations"]).unwrap().as_list().unwrap().len(), 2);
}

#[test]
fn refusals_name_the_field_and_custom_resources_are_unknown() {
    let pod = |spec: &str| {
        read(&format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a"}},"spec":{spec}}}"#))
    };
    let wrong = |spec: &str| answer(&pod(spec)).unwrap_err();
    assert_eq!(wrong(r#"{"containers":[]}"#), "spec.containers: required");
    assert_eq!(wrong(r#"{"containers":[{"name":"A","image":"a"}]}"#), "spec.containers[0].name: invalid");
    assert_eq!(
        wrong(r#"{"containers":[{"name":"a","image":"a","env":[{"name":"a","value":"a","valueFrom":{}}]}]}"#),
        "spec.containers[0].env[0].valueFrom: required"
    );
    let custom = ["a.test".into(), "v1".into(), "Thing".into()];
    assert!(admitted(&custom, &pod("{}")).is_none());
}

#[test]
fn the_smallest_item_of_a_list_is_found_by_its_path() {
    let deployment = ["apps".into(), "v1".into(), "Deployment".into()];
    let path = ["spec", "template", "spec", "containers", "[]", "ports"];
    assert!(required_item(&deployment, &path).unwrap().json_eq(&read(r#"{"containerPort":1}"#)));
    assert!(required_item(&deployment, &path[..4]).unwrap().json_eq(&read(r#"{"name":"a","image":"a"}"#)));
    assert!(required_item(&deployment, &["spec", "replicas"]).is_none());
}

/// The objects without one of the fields of an object, with their paths.
fn without_one(value: &Value, path: &str) -> Vec<(String, Value)> {
    match value {
        Value::Map(map) => {
            let mut found = Vec::new();
            for (key, below) in map.iter().filter(|(key, _)| !matches!(&***key, "apiVersion" | "kind")) {
                let at = refusal::join(path, key);
                let mut rest = map.clone();
                rest.remove(key);
                found.push((at.clone(), Value::Map(rest)));
                found.extend(
                    without_one(below, &at).into_iter().map(|(at, below)| (at, value.with(key, below))),
                );
            }
            found
        }
        Value::List(items) => {
            let one = without_one(&items[0], &format!("{path}[0]"));
            one.into_iter().map(|(at, item)| (at, Value::list(vec![item]))).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn the_smallest_objects_have_nothing_that_an_api_server_does_not_want_or_fill_in() {
    let mut needless = Vec::new();
    for kind in kinds() {
        let whole = smallest(&kind).unwrap();
        for (path, object) in without_one(&whole, "") {
            let steps: Vec<&str> = path.split('.').map(|step| step.trim_end_matches("[0]")).collect();
            let is_there = |shown: Value| path.contains('[') || shown.at(&steps).is_some();
            if answer(&object).is_ok_and(|shown| !is_there(shown)) {
                needless.push(format!("{} {path}", kind[2]));
            }
        }
    }
    assert_eq!(needless, Vec::<String>::new());
}

#[test]
fn what_stands_in_place_of_fields_is_admitted() {
    // Where objects of each type are in an object, and the fields that they have besides.
    let pod =
        |spec: &str| format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a"}},"spec":{spec}}}"#);
    let container = |rest: &str| pod(&format!(r#"{{"containers":[{{"name":"a","image":"a",{rest}}}]}}"#));
    let volume = |rest: &str| {
        pod(&format!(r#"{{"containers":[{{"name":"a","image":"a"}}],"volumes":[{{"name":"a",{rest}}}]}}"#))
    };
    let of = |group: &str, kind: &str, rest: &str| {
        format!(r#"{{"apiVersion":"{group}/v1","kind":"{kind}","metadata":{{"name":"a"}},{rest}}}"#)
    };
    let ingress = |rest: &str| of("networking.k8s.io", "Ingress", &format!(r#""spec":{rest}"#));
    let path = |rest: &str| ingress(&format!(r#"{{"rules":[{{"http":{{"paths":[{rest}]}}}}]}}"#));
    let backend = r#""backend":{"service":{"name":"a","port":{"number":1}}}"#;
    let places: [(&str, String); 16] = [
        ("core/v1.EnvVarSource", container(r#""env":[{"name":"a","valueFrom":@}]"#)),
        ("core/v1.EnvFromSource", container(r#""envFrom":[@]"#)),
        ("core/v1.LifecycleHandler", container(r#""lifecycle":{"preStop":@}"#)),
        ("core/v1.Probe", container(r#""livenessProbe":@"#)),
        ("core/v1.Volume", volume("@")),
        ("core/v1.DownwardAPIVolumeFile", volume(r#""downwardAPI":{"items":[{"path":"a",@}]}"#)),
        ("core/v1.VolumeProjection", volume(r#""projected":{"sources":[@]}"#)),
        (
            "core/v1.PersistentVolumeSpec",
            r#"{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"a"},
            "spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1"},@}}"#
                .into(),
        ),
        (
            "core/v1.ServiceSpec",
            r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":@}"#.into(),
        ),
        ("networking/v1.IngressSpec", ingress("@")),
        ("networking/v1.IngressBackend", ingress(r#"{"defaultBackend":@}"#)),
        (
            "networking/v1.ServiceBackendPort",
            ingress(r#"{"defaultBackend":{"service":{"name":"a","port":@}}}"#),
        ),
        ("networking/v1.HTTPIngressPath", path(&format!(r#"{{"pathType":"Exact",@,{backend}}}"#))),
        (
            "networking/v1.NetworkPolicyPeer",
            of("networking.k8s.io", "NetworkPolicy", r#""spec":{"podSelector":{},"ingress":[{"from":[@]}]}"#),
        ),
        (
            "rbac/v1.PolicyRule",
            of("rbac.authorization.k8s.io", "ClusterRole", r#""rules":[{"verbs":["a"],@}]"#),
        ),
        (
            "meta/v1.LabelSelector",
            of(
                "apps",
                "Deployment",
                r#""spec":{"selector":@,"template":{"metadata":{"labels":{"a":"a"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}"#,
            ),
        ),
    ];
    for (of, place) in places {
        let all = alternatives("ClusterRole", of);
        assert!(all.len() > 1, "{of}");
        for one in all {
            let fields = ephor_value::print::json(&Value::Map(one.fields.clone()));
            let inner = fields.trim_start_matches('{').strip_suffix('}').unwrap().to_owned();
            let is_whole = place.contains(":@") || place.contains("[@]");
            let place = match one.fields.contains_key("pathType") {
                true => place.replace(r#""pathType":"Exact","#, ""),
                false => place.clone(),
            };
            let object = read(&place.replace('@', if is_whole { &fields } else { &inner }));
            assert!(answer(&object).is_ok(), "{of} {fields}: {:?}", answer(&object));
        }
    }
}

#[test]
fn pods_that_are_there_may_have_ephemeral_containers_and_new_ones_may_not() {
    let pod = |container: &str| {
        read(&format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p"}},"spec":{{"containers":[{{"name":"a","image":"a"}}],
            "volumes":[{{"name":"v","emptyDir":{{}}}}],"ephemeralContainers":[{container}]}}}}"#
        ))
    };
    let kind = kind_of(&pod("")).unwrap();
    let plain = r#"{"name":"e","image":"b"}"#;
    assert_eq!(answer(&pod(plain)), Err("spec.ephemeralContainers: forbidden".into()));
    let updated = |container: &str| {
        let shown = admitted_in_update(&kind, &pod(container)).unwrap().map_err(|r| r.to_string())?;
        let all = shown.at(&["spec", "ephemeralContainers"]).and_then(Value::as_list).unwrap().to_vec();
        Ok::<Value, String>(all[0].clone())
    };
    let wanted = read(
        r#"{"name":"e","image":"b","resources":{},"terminationMessagePath":"/dev/termination-log",
        "terminationMessagePolicy":"File","imagePullPolicy":"Always"}"#,
    );
    assert!(updated(plain).unwrap().json_eq(&wanted));
    // As kube-apiserver 1.36.3 answers when they are added.
    for (with, refused) in [
        ("", None),
        (r#","targetContainerName":"a""#, None),
        (r#","targetContainerName":"z""#, Some("targetContainerName: invalid")),
        (r#","ports":[]"#, Some("ports: forbidden")),
        (r#","resources":{}"#, None),
        (r#","resources":{"limits":{}}"#, Some("resources: forbidden")),
        (r#","livenessProbe":{"httpGet":{"port":1}}"#, Some("livenessProbe: forbidden")),
        (r#","lifecycle":{}"#, Some("lifecycle: forbidden")),
        (r#","restartPolicy":"Always""#, Some("restartPolicy: forbidden")),
        (r#","imagePullPolicy":"X""#, Some("imagePullPolicy: not a supported value")),
        (r#","securityContext":{"privileged":true}"#, None),
        (r#","volumeMounts":[{"name":"v","mountPath":"/a"}]"#, None),
        (
            r#","volumeMounts":[{"name":"v","mountPath":"/a","subPath":"x"}]"#,
            Some("volumeMounts[0].subPath: forbidden"),
        ),
        (r#","volumeMounts":[{"name":"w","mountPath":"/a"}]"#, Some("volumeMounts[0].name: invalid")),
        (r#","env":[{"name":""}]"#, Some("env[0].name: required")),
    ] {
        let found = updated(&format!(r#"{{"name":"e","image":"b"{with}}}"#));
        let wanted = refused.map(|text| format!("spec.ephemeralContainers[0].{text}"));
        assert_eq!(found.err(), wanted, "{with}");
    }
    let of_host = r#"{"name":"e","image":"b","securityContext":{"windowsOptions":{"hostProcess":true}}}"#;
    assert_eq!(updated(of_host), Err("spec.securityContext.windowsOptions.hostProcess: invalid".into()));
    for (container, refused) in [
        (r#"{"image":"b"}"#, "[0].name: required"),
        (r#"{"name":"e"}"#, "[0].image: required"),
        (r#"{"name":"a","image":"b"}"#, "[0].name: duplicate"),
        (r#"{"name":"e","image":"b"},{"name":"e","image":"b"}"#, "[1].name: duplicate"),
    ] {
        assert_eq!(updated(container), Err(format!("spec.ephemeralContainers{refused}")), "{container}");
    }
}

#[test]
fn fields_that_no_new_object_has_are_known() {
    let of = |object: &str, is_new: bool| {
        let object = read(object);
        never_set(&kind_of(&object).unwrap(), &object, is_new)
    };
    let pod = r#"{"apiVersion":"v1","kind":"Pod","spec":{"hostUsers":true,"containers":[{"ports":[{}]}],
        "ephemeralContainers":[{"name":"a","ports":[{}]}]}}"#;
    assert_eq!(of(pod, true), ["spec.ephemeralContainers", "spec.ephemeralContainers[0].ports"]);
    assert_eq!(of(pod, false), ["spec.ephemeralContainers[0].ports"]);
    let template = r#"{"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{"spec":{"ephemeralContainers":[{}]}}}}"#;
    assert_eq!(of(template, false), ["spec.template.spec.ephemeralContainers"]);
    assert!(of(r#"{"apiVersion":"v1","kind":"Pod","spec":{"ephemeralContainers":[]}}"#, true).is_empty());
    // Other objects may have it.
    let job = r#"{"apiVersion":"batch/v1","kind":"Job","spec":{"podFailurePolicy":{"rules":[{}]}}}"#;
    assert!(of(job, true).is_empty());
    assert!(of(r#"{"apiVersion":"example.com/v1","kind":"Any","spec":{"a":1}}"#, true).is_empty());
}

#[test]
fn texts_with_wildcards_are_refused_where_all_such_texts_are() {
    let refuses = |of: &str, field: &str, text: &str| refuses_wildcards(of, field, &Value::from(text));
    assert!(refuses("core/v1.Volume", "name", "*") && refuses("core/v1.VolumeMount", "name", "a?"));
    assert!(!refuses("core/v1.Volume", "name", "a"));
    // A host may start with one.
    assert!(!refuses("networking/v1.IngressRule", "host", "*"));
    assert!(!refuses("core/v1.Container", "image", "*"));
    let pod = |volume: &str, label: &str| {
        let text = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"a":"LABEL"}},"spec":{"containers":[{"name":"a","image":"*"}],"volumes":[{"name":"VOLUME","emptyDir":{}}]}}"#;
        read(&text.replace("LABEL", label).replace("VOLUME", volume))
    };
    let is_refused = |object: &Value| has_refused_wildcard(&kind_of(object).unwrap(), object);
    assert!(is_refused(&pod("*", "a")) && is_refused(&pod("a", "*")) && !is_refused(&pod("a", "a")));
}

#[test]
fn what_is_sent_to_a_pod_is_admitted_without_what_is_empty() {
    let kind = ["", "v1", "PodExecOptions"].map(Str::from);
    let sent = Value::map([("container", Value::from("web")), ("stdin", Value::Bool(false))]);
    let shown = admitted(&kind, &sent).unwrap().unwrap();
    let members: Vec<&str> = shown.as_map().unwrap().keys().map(|key| &**key).collect();
    assert_eq!(members, ["container", "apiVersion", "kind", "command"]);
}

#[test]
fn a_stateful_set_keeps_its_bound_where_the_release_does() {
    let set = read(
        r#"{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"a"},"spec":{"serviceName":"a",
        "selector":{"matchLabels":{"a":"b"}},"updateStrategy":{"rollingUpdate":{"maxUnavailable":"50%"}},
        "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}"#,
    );
    let bound = |release: Release, set: &Value| {
        let form = AdmittingServer::of(release).admitted(&kind_of(set).unwrap(), set).unwrap();
        let form = form.map_err(|refusal| refusal.to_string())?;
        let rolling = form.at(&["spec", "updateStrategy", "rollingUpdate"]).unwrap();
        Ok(rolling.get("maxUnavailable").cloned().unwrap_or_default())
    };
    assert_eq!(bound(Release::V1_36, &set), Ok(Value::Null));
    assert_eq!(bound(Release::V1_37, &set), Ok(Value::from("50%")));
    let wrong = read(&print::json(&set).replace("50%", "many"));
    assert_eq!(bound(Release::V1_36, &wrong), Ok(Value::Null));
    let refused = "spec.updateStrategy.rollingUpdate.maxUnavailable: invalid".to_owned();
    assert_eq!(bound(Release::V1_37, &wrong), Err::<Value, String>(refused));
}

#[test]
fn ports_and_weights_that_must_be_there_are_not_left_out() {
    let pod = |spec: &str| {
        let text = format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a"}},"spec":{spec}}}"#);
        answer(&read(&text)).unwrap_err()
    };
    let container = |rest: &str| format!(r#"{{"containers":[{{"name":"a","image":"a",{rest}}}]}}"#);
    assert_eq!(
        pod(&container(r#""ports":[{"name":"a"}]"#)),
        "spec.containers[0].ports[0].containerPort: required"
    );
    assert_eq!(
        pod(&container(r#""livenessProbe":{"grpc":{}}"#)),
        "spec.containers[0].livenessProbe.grpc.port: required"
    );
    let spread = r#"{"containers":[{"name":"a","image":"a"}],
        "topologySpreadConstraints":[{"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"}]}"#;
    assert_eq!(pod(spread), "spec.topologySpreadConstraints[0].maxSkew: required");
}

#[test]
fn names_of_services_begin_with_digits_where_the_release_takes_them() {
    let service = read(
        r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"1"},"spec":{"ports":[{"port":80}]}}"#,
    );
    let takes = |release: Release| {
        AdmittingServer::of(release).admitted(&kind_of(&service).unwrap(), &service).unwrap().is_ok()
    };
    assert_eq!([Release::V1_35, Release::V1_36, Release::V1_37].map(takes), [false, true, true]);
}

#[test]
fn volumes_of_images_are_dropped_where_the_release_has_none() {
    let pod = read(
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"a"}],
        "volumes":[{"name":"v","image":{"reference":"a"}}]}}"#,
    );
    let volumes = |release: Release, pod: &Value| {
        let form = AdmittingServer::of(release).admitted(&kind_of(pod).unwrap(), pod).unwrap();
        form.map(|form| form.at(&["spec", "volumes"]).is_some()).map_err(|refusal| refusal.to_string())
    };
    assert_eq!(volumes(Release::V1_34, &pod), Ok(false));
    assert_eq!(volumes(Release::V1_35, &pod), Ok(true));
    let mounted = print::json(&pod)
        .replace(r#""containers":[{"#, r#""containers":[{"volumeMounts":[{"name":"v","mountPath":"/v"}],"#);
    assert!(volumes(Release::V1_34, &read(&mounted)).is_err());
    assert_eq!(volumes(Release::V1_35, &read(&mounted)), Ok(true));
}
