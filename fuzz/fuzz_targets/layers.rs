//! Any bytes as a signed manifest: base64 of gzip, gzip of tar of YAML files, or YAML.
#![no_main]
use std::sync::LazyLock;

use ephor_signatures::fuzzing::message;
use ephor_value::Value;
use libfuzzer_sys::fuzz_target;

static OBJECT: LazyLock<Value> = LazyLock::new(|| {
    ephor_document::yaml_value("{kind: Service, metadata: {name: a, namespace: b}}").unwrap_or_default()
});

fuzz_target!(|data: &[u8]| message(&String::from_utf8_lossy(data), data, &OBJECT));
