//! Answers objects as the API server of a release does (the argument): an object a line on standard
//! input, `{"form": …}`, `{"path": …, "reason": …}` or `{}` (unknown) a line on standard output.
//! `conformance/reference/admitted.py` compares it with a server.

use std::io::{BufRead, Write};

use ephor_kubernetes::admitted::{AdmittingServer, kind_of};
use ephor_value::release::Release;
use ephor_value::{Value, print};

fn main() -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let release = std::env::args().nth(1).unwrap_or_else(|| Release::DEFAULT_NAME.into());
    let choice = Release::choose(&release).map_err(std::io::Error::other)?;
    let server = AdmittingServer::of(choice.release);
    for line in std::io::stdin().lock().lines() {
        let object: Value = serde_json::from_str(&line?)?;
        let answer = match kind_of(&object).and_then(|kind| server.admitted(&kind, &object)) {
            Some(Ok(form)) => Value::map([("form", form)]),
            Some(Err(refusal)) => {
                let reason = refusal.reason.to_string().into();
                Value::map([("path", refusal.path.into()), ("reason", reason)])
            }
            None => Value::map([]),
        };
        writeln!(out, "{}", print::json(&answer))?;
    }
    out.flush()
}
