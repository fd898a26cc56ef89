//! Compares pairs of policy files, one `OLD NEW` a line of standard input, and prints the answer and the time of each.

use std::io::BufRead;
use std::time::Instant;

use ephor_compare::{Answer, Options, Side, compare};
use ephor_policies::load::argument;
use ephor_sources::files::SourceText;
use ephor_value::print::json;

fn side(path: &str) -> Result<Side, String> {
    let text = std::fs::read_to_string(path).map_err(|cause| format!("{path}: {cause}"))?;
    let source = SourceText { name: path.into(), text };
    Side::new(argument(&[source]), path).map_err(|cause| cause.to_string())
}

fn main() {
    let is_long = std::env::args().any(|arg| arg == "--objects");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Some((old, new)) = line.split_once(' ') else { continue };
        let start = Instant::now();
        let (old, new) = match (side(old), side(new)) {
            (Ok(old), Ok(new)) => (old, new),
            (Err(why), _) | (_, Err(why)) => {
                println!("{line}\tunusable\t{why}");
                continue;
            }
        };
        let found = compare(&old, &new, Options::default());
        let why = match &found.answer {
            Answer::Tested(why) | Answer::ProvedRelative(why) => why.join("; "),
            Answer::Incomparable(why) => why.clone(),
            Answer::Proved | Answer::Differs => String::new(),
        };
        let time = start.elapsed().as_millis();
        println!("{line}\t{}\t{time} ms\t{} objects\t{why}", found.answer.name(), found.objects);
        for d in found.differences.iter().filter(|_| is_long) {
            let said = |verdict: ephor_compare::Verdict| verdict.name();
            let object = json(&d.object);
            println!(
                "  {} {} {}: {} -> {}\n    {object}",
                d.kind.name(),
                d.universe.name(),
                d.environment.name(),
                said(d.old.verdict),
                said(d.new.verdict)
            );
        }
    }
}
