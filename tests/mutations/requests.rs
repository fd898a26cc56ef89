//! Reviews of changed objects, and bodies that are no reviews any more.

use ephor_value::Value;
use ephor_value::print::json;

use crate::random::Random;

/// The body of a review.
pub fn body(object: &Value, old: &Value, operation: &str, random: &mut Random) -> Vec<u8> {
    let shown = if object.is_null() { old } else { object };
    let api_version = shown.text_at(&["apiVersion"]);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = shown.text_at(&["kind"]);
    let text = |s: &str| json(&Value::from(s));
    let kinds = format!(r#"{{"group":{},"version":{},"kind":{}}}"#, text(group), text(version), text(kind));
    let resource = format!(
        r#"{{"group":{},"version":{},"resource":{}}}"#,
        text(group),
        text(version),
        text(&format!("{}s", kind.to_lowercase()))
    );
    let more = match random.below(12) {
        0 => r#","subResource":"status","requestSubResource":"status""#,
        1 => r#","subResource":"scale","requestKind":{"group":"autoscaling","version":"v1","kind":"Scale"}"#,
        2 => r#","subResource":"ephemeralcontainers""#,
        3 => {
            r#","dryRun":true,"options":{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","gracePeriodSeconds":-1}"#
        }
        4 => r#","object":{"kind":"Pod"}"#,
        5 => r#","requestResource":{"group":"","version":"","resource":""},"namespace":"unknown""#,
        _ => "",
    };
    let text = format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","kind":{kinds},"resource":{resource},"operation":"{operation}","namespace":"default","name":{},"userInfo":{{"username":"alice","groups":["system:authenticated"],"extra":{{"a":["b"]}}}},"object":{},"oldObject":{}{more}}}}}"#,
        text(shown.text_at(&["metadata", "name"])),
        json(object),
        json(old),
    );
    let mut bytes = text.into_bytes();
    if random.below(4) == 0 {
        damage(&mut bytes, random);
    }
    bytes
}

/// Changes bytes: what is left may be no JSON, or no UTF-8.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    const PIECES: [&[u8]; 16] = [
        b"\xff\xfe",
        b"\xc0\x80",
        b"\\ud800",
        b"\\u0000",
        b"null",
        b"1e999",
        b"-0.0",
        b"123456789012345678901234567890",
        b"\"a\":1,\"a\":{},",
        b"\"metadata\":{\"name\":\"x\"},",
        b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
        b"{\"a\":",
        b"\"",
        b"\\",
        b",",
        b"\"__proto__\":{},",
    ];
    for _ in 0..1 + random.below(3) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << random.below(8),
            2 => {
                let piece = *random.of(&PIECES);
                bytes.splice(at..at, piece.iter().copied());
            }
            3 => {
                // Behind a brace a member is one.
                let open = bytes[at..].iter().position(|b| *b == b'{').map_or(at, |more| at + more + 1);
                let open = open.min(bytes.len());
                let piece = *random.of(&PIECES);
                bytes.splice(open..open, piece.iter().copied());
            }
            4 => {
                let levels = [10, 200, 9_000, 20_000][random.below(4)];
                let inside = [b"[".repeat(levels), b"]".repeat(levels)].concat();
                let value = bytes[at..].iter().position(|b| *b == b':').map_or(at, |more| at + more + 1);
                let value = value.min(bytes.len());
                bytes.splice(value..value, inside.into_iter().chain(*b",\"z\":"));
            }
            _ => {
                let end = (at + random.below(200)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(end..end, part);
            }
        }
        if bytes.is_empty() {
            return;
        }
    }
}
