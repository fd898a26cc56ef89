//! Inputs that are read block by block give what they give as a whole.

use std::io::Write;

use crate::common::{Files, POLICY};

/// More than a block of objects, half of which violate the policy.
fn maps(count: usize) -> Vec<String> {
    let one = |i: usize| {
        let labels = if i.is_multiple_of(2) { ", labels: {team: a}" } else { "" };
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{i}, namespace: web{labels}}}\ndata: {{text: '{}'}}\n",
            "t".repeat(i % 400)
        )
    };
    (0..count).map(one).collect()
}

/// A number of objects that is more than one block of them.
const MANY: usize = 6_000;

fn yaml(count: usize) -> String {
    maps(count).join("---\n")
}

fn json(count: usize, between: &str) -> String {
    let one = |text: &String| ephor_value::print::json(&ephor_document::yaml_value(text).unwrap());
    maps(count).iter().map(one).collect::<Vec<_>>().join(between)
}

fn files(input: (&str, &str)) -> Files {
    Files::new(&[("policy.yaml", POLICY), input])
}

#[test]
fn the_first_line_counts_all_objects_and_results_keep_their_order() {
    let all = files(("maps.yaml", &yaml(MANY)));
    let ran = all.run(&["apply", "policy.yaml", "-r", "maps.yaml"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(
        ran.out.contains("\nApplying 1 policy rule(s) to 6000 resource(s)...\npolicy "),
        "{:.400}",
        ran.out
    );
    assert!(ran.out.ends_with("\npass: 3000, fail: 3000, warn: 0, error: 0, skip: 0 \n"));
    let named: Vec<&str> = ran.out.lines().filter_map(|line| line.split("web/ConfigMap/").nth(1)).collect();
    let expected: Vec<String> = (0..MANY).filter(|i| i % 2 == 1).map(|i| format!("m{i} failed:")).collect();
    assert!(named.iter().map(|name| name.trim()).eq(expected.iter().map(String::as_str)), "{named:.3?}");
}

#[test]
fn every_form_of_input_gives_the_same_bytes() {
    let text = yaml(MANY);
    let expected = files(("maps.yaml", &text)).run(&["apply", "policy.yaml", "-r", "maps.yaml"]);
    let list = format!("{{\"apiVersion\":\"v1\",\"items\":[{}],\"kind\":\"List\"}}\n", json(MANY, ",\n"));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let mut archive = tar::Builder::new(Vec::new());
    for (i, part) in maps(MANY).chunks(500).enumerate() {
        let text = part.join("---\n");
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        archive.append_data(&mut header, format!("{i:02}.yaml"), text.as_bytes()).unwrap();
    }
    let inputs = [
        ("maps.jsonl", json(MANY, "\n").into_bytes()),
        ("list.json", list.into_bytes()),
        ("maps.yaml.gz", packed),
        ("maps.tar", archive.into_inner().unwrap()),
    ];
    for (name, bytes) in inputs {
        let all = files((name, ""));
        all.write(name, &bytes);
        let ran = all.run(&["apply", "policy.yaml", "-r", name]);
        assert_eq!((ran.code, ran.err), (Some(1), String::new()), "{name}");
        assert!(ran.out == expected.out, "{name}: other bytes than those of the YAML file");
    }
    let piped = files(("other.yaml", "")).run_on(&text, &["apply", "policy.yaml", "-r", "-"]);
    assert!(piped.out == expected.out, "standard input");
}

#[test]
fn reports_of_many_objects_have_the_places_of_the_file() {
    let all = files(("maps.yaml", &yaml(MANY)));
    let ran =
        all.run(&["apply", "policy.yaml", "-r", "maps.yaml", "--output-format", "json", "--threads", "1"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let results = report["results"].as_array().unwrap();
    let last = results.iter().rev().find(|r| r["result"] == "fail").unwrap();
    assert_eq!(last["resource"]["name"], "m5999");
    // Five lines an object, the separator among them.
    assert_eq!(last["place"]["line"], 5999 * 5 + 3, "{last}");
    let threads =
        all.run(&["apply", "policy.yaml", "-r", "maps.yaml", "--output-format", "json", "--threads", "4"]);
    let without_time = |text: &str| {
        let mut report: serde_json::Value = serde_json::from_str(text).unwrap();
        report.as_object_mut().unwrap().remove("seconds");
        report
    };
    assert!(without_time(&ran.out) == without_time(&threads.out), "other results with four threads");
}

#[test]
fn an_input_that_breaks_off_leaves_no_output_and_names_its_place() {
    let broken = format!("{}---\nkind: [\n", yaml(MANY));
    let all = files(("maps.yaml", &broken));
    let ran = all.run(&["apply", "policy.yaml", "-r", "maps.yaml"]);
    assert_eq!((ran.code, ran.out.contains("policy need-team")), (Some(1), false), "{}", ran.err);
    assert!(ran.err.contains("maps.yaml:30001: this document stops the run"), "{}", ran.err);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(yaml(MANY).as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    all.write("maps.gz", &packed[..packed.len() - 2_000]);
    let ran = all.run(&["apply", "policy.yaml", "-r", "maps.gz"]);
    assert_eq!((ran.code, ran.out.contains("policy need-team")), (Some(1), false), "{}", ran.err);
    assert!(ran.err.contains("the gzip data breaks off"), "{}", ran.err);
}

#[test]
fn of_two_objects_of_one_name_in_different_blocks_the_first_one_counts() {
    let all = files(("maps.yaml", &format!("{}---\n{}", yaml(MANY), yaml(1))));
    let ran = all.run(&["apply", "policy.yaml", "-r", "maps.yaml"]);
    assert!(ran.err.contains("maps.yaml:30001: duplicate of web/ConfigMap/m0: left out"), "{}", ran.err);
    assert!(ran.out.contains("to 6000 resource(s)"));
}

#[test]
fn a_rule_that_looks_objects_up_sees_those_that_come_later() {
    let policy = POLICY
        .replace("    validate:\n", "    context: [{name: all, apiCall: {urlPath: /api/v1/namespaces/web/configmaps, jmesPath: 'length(items)'}}]\n    validate:\n")
        .replace("message: label team is needed", "message: 'one of {{ all }}'");
    let all = Files::new(&[("policy.yaml", &policy), ("maps.yaml", &yaml(MANY))]);
    let ran = all.run(&["apply", "policy.yaml", "-r", "maps.yaml"]);
    assert!(ran.out.contains("one of 6000"), "{:.400}", ran.out);
}

/// A policy for ConfigMaps whose message has what a path of the API gives.
fn calling(path: &str, query: &str) -> String {
    let entry = format!("{{name: found, apiCall: {{urlPath: '{path}', jmesPath: '{query}'}}}}");
    POLICY
        .replace("    validate:\n", &format!("    context: [{entry}]\n    validate:\n"))
        .replace("message: label team is needed", "message: 'one of {{ found }}'")
}

#[test]
fn kinds_that_rules_look_up_are_in_memory_and_give_the_results_of_all() {
    let services: String = (0..40)
        .map(|i| format!("---\napiVersion: v1\nkind: Service\nmetadata: {{name: s{i}, namespace: web}}\n"))
        .collect();
    let objects = yaml(MANY) + &services;
    for (path, expected) in [
        ("/api/v1/namespaces/{{ request.namespace }}/services", "one of 40"),
        ("/api/v1/namespaces/{{ request.object.metadata.namespace }}/configmaps", "one of 6000"),
        ("/api/v1/namespaces/web/{{ join(`\"\"`, `[\"services\"]`) }}", "one of 40"),
    ] {
        let policy = calling(path, "length(items)");
        let all = Files::new(&[("policy.yaml", &policy), ("all.yaml", &objects)]);
        let of_file = all.run(&["apply", "policy.yaml", "-r", "all.yaml", "--quiet"]);
        assert!(of_file.out.contains(expected), "{path}: {:.600}{:.600}", of_file.out, of_file.err);
        // Standard input cannot be read twice: all of it is in memory.
        let of_input = all.run_on(&objects, &["apply", "policy.yaml", "-r", "-", "--quiet"]);
        assert!(of_input.out == of_file.out && of_input.code == of_file.code, "{path}: other results");
    }
}

#[test]
fn a_path_that_leads_to_another_kind_than_its_policy_names_ends_the_run() {
    let policy = calling("/api/v1/namespaces/{{ request.object.data.at || `\"web\"` }}/services", "items");
    let objects = yaml(MANY)
        + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: web}\ndata: {at: web/pods}\n";
    let all = Files::new(&[("policy.yaml", &policy), ("all.yaml", &objects)]);
    let ran = all.run(&["apply", "policy.yaml", "-r", "all.yaml", "--output-format", "json"]);
    assert_eq!((ran.code, &*ran.out), (Some(1), ""), "{:.600}", ran.err);
    assert!(ran.err.contains("leads to `pods`") && ran.err.contains("help: "), "{:.600}", ran.err);
}

/// The most memory that a process has had, in kB.
#[cfg(target_os = "linux")]
fn peak(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_number_of_objects() {
    use std::process::Stdio;

    let all = files(("none.yaml", ""));
    let mut program = all.program(&["apply", "policy.yaml", "-r", "-", "--threads", "1"]);
    program.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = program.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let part = |from: usize| {
        let rename = |text: String| text.replacen("name: m", &format!("name: p{from}m"), 1) + "---\n";
        maps(MANY).into_iter().map(rename).collect::<String>()
    };
    // A pipe is written when the program has read all but the last few kilobytes.
    (0..3).for_each(|i| input.write_all(part(i).as_bytes()).unwrap());
    let few = peak(child.id());
    (3..30).for_each(|i| input.write_all(part(i).as_bytes()).unwrap());
    let many = peak(child.id());
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(many * 10 < few * 12, "{few} kB after {} objects, {many} kB after {}", 3 * MANY, 30 * MANY);
}

#[test]
fn results_that_cannot_wait_on_a_disk_are_an_error_that_names_the_folder() {
    let all = files(("maps.yaml", &yaml(5 * MANY)));
    let mut program = all.program(&["apply", "policy.yaml", "-r", "maps.yaml"]);
    let ran = crate::common::Ran::new(program.env("TMPDIR", all.path("missing")).output().unwrap());
    assert_eq!((ran.code, ran.out.contains("policy need-team")), (Some(1), false), "{}", ran.err);
    assert!(ran.err.contains("no temporary file can be written in `"), "{}", ran.err);
    assert!(ran.err.contains("missing`") && ran.err.contains("TMPDIR names another folder"), "{}", ran.err);
}

#[test]
fn a_reader_that_goes_away_changes_neither_the_exit_code_nor_what_is_reported() {
    use std::process::Stdio;

    let all = files(("maps.yaml", &yaml(5 * MANY)));
    let mut program = all.program(&["apply", "policy.yaml", "-r", "maps.yaml"]);
    let mut child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = crate::common::Ran::new(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
}

/// Answers one request with a body, of which the header says that it has `length` bytes.
fn served(body: Vec<u8>, length: usize) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/objects", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1 << 12];
        let _ = std::io::Read::read(&mut stream, &mut request);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
    });
    address
}

#[test]
fn an_answer_of_any_length_is_read_as_it_comes() {
    // More than a policy file may have, which is read whole.
    let large = "t".repeat(1 << 20);
    let one = |i: usize| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{i}}}\ndata: {{text: {large}}}\n---\n")
    };
    let objects: String = (0..52).map(one).collect();
    let length = objects.len();
    let all = files(("unused.yaml", ""));
    let ran = all.run(&["apply", "policy.yaml", "-r", &served(objects.into_bytes(), length), "--quiet"]);
    assert!(ran.out.contains("to 52 resource(s)") && ran.out.contains("fail: 52"), "{}", ran.err);

    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(yaml(MANY).as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let length = packed.len();
    let ran = all.run(&["apply", "policy.yaml", "-r", &served(packed, length), "--quiet"]);
    assert!(ran.out.contains(&format!("to {MANY} resource(s)")), "{}{}", ran.out, ran.err);
}

#[test]
fn an_answer_that_breaks_off_leaves_no_output_and_names_the_address() {
    let body = yaml(MANY).into_bytes();
    let length = body.len() + 1_000;
    let address = served(body, length);
    let all = files(("unused.yaml", ""));
    let ran = all.run(&["apply", "policy.yaml", "-r", &address, "--output-format", "json"]);
    assert_eq!((ran.code, &*ran.out), (Some(1), ""), "{}", ran.err);
    assert!(ran.err.contains(&address), "{}", ran.err);
}
