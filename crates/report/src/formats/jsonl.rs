//! JSON lines: the run on the first line, then each policy and each result on one of its own
//! (`docs/reference/formats.md`). It holds everything that other formats show, so that
//! [`crate::shards`] makes a run of it again, and one of several.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use serde::Serialize;

use super::WriteError;
use crate::lines::{Line, PolicyLine, ResultLine, RunLine, Tool, VERSION};
use crate::run::{PolicyInfo, Run};

/// Writes the run as JSON lines.
///
/// # Errors
/// Results cannot be read, or the document cannot be written.
pub fn write(run: &Run, out: &mut dyn Write) -> Result<(), WriteError> {
    let mut results = 0;
    for read in run.shown() {
        read?;
        results += 1;
    }
    write_line(&Line::<&str>::Run(Box::new(head(run, results))), out)?;
    let mut numbers: HashMap<Arc<PolicyInfo>, usize> = HashMap::new();
    for read in run.shown() {
        let finding = read?;
        let number = match numbers.get(&finding.policy) {
            Some(number) => *number,
            None => {
                write_line(&Line::<&str>::Policy(PolicyLine::from(&*finding.policy)), out)?;
                let number = numbers.len();
                numbers.insert(finding.policy.clone(), number);
                number
            }
        };
        write_line(&Line::Result(ResultLine::of(&finding, number)), out)?;
    }
    Ok(())
}

fn head(run: &Run, results: usize) -> RunLine {
    RunLine {
        version: VERSION,
        tool: Tool::own(),
        shard: run.shard.to_string(),
        id: run.id.clone(),
        policies: run.policies,
        resources: run.resources,
        seconds: run.seconds,
        violations_only: run.violations_only,
        fails: run.fails,
        summary: run.counts().into(),
        results,
        notes: run.notes.iter().map(From::from).collect(),
        roots: run.roots.clone(),
        invocation: (&run.invocation).into(),
        about: run.about.clone(),
    }
}

fn write_line(line: &Line<impl Serialize>, out: &mut dyn Write) -> Result<(), WriteError> {
    // Texts and numbers: only the output can fail.
    serde_json::to_writer(&mut *out, line).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(())
}
