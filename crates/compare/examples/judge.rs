//! Judges objects by the policies of two files: `{"old": path, "new": path, "operation": "CREATE",
//! "object": {…}}` a line of standard input, `{"written": [old, new], "shown": [old, new] | null,
//! "refused": text | null}` a line of standard output: the verdicts on the object as it is, and on
//! the form that an API server shows to webhooks, or why it refuses it.

use std::io::BufRead;

use ephor_compare::Side;
use ephor_kubernetes::admitted::{admitted, kind_of};
use ephor_policies::load::argument;
use ephor_sources::files::SourceText;
use ephor_value::Value;
use ephor_value::print::json;

fn side(path: &str) -> Result<Side, String> {
    let text = std::fs::read_to_string(path).map_err(|cause| format!("{path}: {cause}"))?;
    let source = SourceText { name: path.into(), text };
    Side::new(argument(&[source]), path).map_err(|cause| cause.to_string())
}

fn verdicts(sides: &[Side; 2], object: &Value, operation: &'static str) -> Value {
    let name = |side: &Side| {
        let judged = side.judge_object(object, operation);
        judged.map_or("none", |judged| judged.verdict.name()).into()
    };
    Value::from(vec![name(&sides[0]), name(&sides[1])])
}

fn judge(line: &str) -> Result<Value, String> {
    let query = ephor_document::yaml_value(line).map_err(|cause| cause.to_string())?;
    let sides = [side(query.text_at(&["old"]))?, side(query.text_at(&["new"]))?];
    let operation = match query.text_at(&["operation"]) {
        "UPDATE" => "UPDATE",
        "DELETE" => "DELETE",
        _ => "CREATE",
    };
    let object = query.get("object").cloned().unwrap_or(Value::Null);
    let written = verdicts(&sides, &object, operation);
    let (shown, refused) = match kind_of(&object).and_then(|kind| admitted(&kind, &object)) {
        Some(Ok(form)) => (verdicts(&sides, &form, operation), Value::Null),
        Some(Err(refusal)) => (Value::Null, format!("{}: {}", refusal.path, refusal.reason).as_str().into()),
        None => (Value::Null, Value::Null),
    };
    Ok(Value::map([("written", written), ("shown", shown), ("refused", refused)]))
}

fn main() {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let answer = judge(&line).unwrap_or_else(|why| Value::map([("error", why.as_str().into())]));
        println!("{}", json(&answer));
    }
}
