#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::api::corpus;

#[test]
fn accepts_every_recorded_policy() {
    for file in ["autogen", "conditions", "match", "mutate", "patterns", "realistic", "rules", "variables"] {
        for case in corpus::cases(&format!("{file}.jsonl")) {
            for policy in corpus::policies(&case) {
                if let Err(error) = check(&policy) {
                    panic!("{}: {error}", case.text_at(&["id"]));
                }
            }
            for exception in case.get("exceptions").and_then(Value::as_list).unwrap_or(&[]) {
                check(exception).unwrap();
            }
        }
    }
}
