//! Results of shards, merged into those of one run.
//!
//! In: files with JSON lines ([`crate::formats::jsonl`]), one for each shard of a run. Out: the
//! [`Run`] that would have evaluated all objects at once: the same results in the same order,
//! all counts added, the time of the shard that took longest. Files are read side by side,
//! line by line, and results go to disk when they are many.

use std::collections::HashSet;
use std::io::BufRead;
use std::num::NonZero;
use std::sync::Arc;

use crate::hex::hex;
use crate::lines::{Line, RunLine, Tool, VERSION};
use crate::run::{Counts, Finding, Findings, Note, PolicyInfo, Run, Shard};
use crate::spool::SpoolError;

/// Why files are no results of one run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShardsError {
    /// A file cannot be read.
    #[error("{file}: cannot be read ({cause})")]
    Read {
        /// The file.
        file: String,
        /// Why.
        cause: std::io::Error,
    },
    /// There is no file at all.
    #[error("{folder}: there are no results\nhelp: `ephor apply … --report-file FILE.jsonl` writes them")]
    NoFile {
        /// Where they should be.
        folder: String,
    },
    /// A file does not begin as results do.
    #[error(
        "{file}:1: this is not a file of results as JSON lines\nhelp: `ephor apply … --output-format jsonl` writes them"
    )]
    NoResults {
        /// The file.
        file: String,
    },
    /// Another version of the form, or of the program.
    #[error("{file}:1: {of} wrote this file, which {} {} does not read", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))]
    Version {
        /// The file.
        file: String,
        /// What wrote it.
        of: String,
    },
    /// A line is none of a result.
    #[error("{file}:{line}: {why}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// The file breaks off.
    #[error("{file}: breaks off behind {found} of {wanted} results\nhelp: run shard {shard} again")]
    Truncated {
        /// The file.
        file: String,
        /// How many results it has.
        found: usize,
        /// How many it says that it has.
        wanted: usize,
        /// The shard.
        shard: Shard,
    },
    /// A shard has two files.
    #[error("shard {shard} is there twice: {first} and {second}\nhelp: leave out one of them")]
    Twice {
        /// The shard.
        shard: Shard,
        /// The first file.
        first: String,
        /// The second one.
        second: String,
    },
    /// Files are of runs of different inputs.
    #[error(
        "{first} and {second} are results of different runs\nhelp: shards of one run have the same policies, flags and number of shards"
    )]
    OtherRun {
        /// The first file.
        first: String,
        /// The other one.
        second: String,
    },
    /// Shards have no file.
    #[error("there are no results of {}\nhelp: name the files of all shards", missing_shards(missing, *of))]
    Missing {
        /// Their numbers, from 1.
        missing: Vec<u32>,
        /// How many there should be.
        of: u32,
    },
    /// There is no room for the results.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

/// The file of a shard, of which the first line was read.
pub struct ShardFile<R> {
    name: String,
    shard: Shard,
    head: RunLine,
    lines: R,
    /// The number of the line that was read last, from 1.
    line: usize,
    text: String,
    policies: Vec<Arc<PolicyInfo>>,
    found: usize,
}

impl<R: BufRead> ShardFile<R> {
    /// Reads the first line of a file; errors name it so.
    ///
    /// # Errors
    /// It cannot be read, or does not begin as results do.
    pub fn open(name: String, mut lines: R) -> Result<ShardFile<R>, ShardsError> {
        let mut text = String::new();
        lines.read_line(&mut text).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::InvalidData => ShardsError::NoResults { file: name.clone() },
            _ => ShardsError::Read { file: name.clone(), cause },
        })?;
        let head = match serde_json::from_str::<Line<String>>(&text) {
            Ok(Line::Run(head)) => *head,
            _ => {
                return Err(match written_by(&text) {
                    Some(of) => ShardsError::Version { file: name, of },
                    None => ShardsError::NoResults { file: name },
                });
            }
        };
        let of = || format!("{} {}", head.tool.name, head.tool.version);
        if head.version != VERSION || head.tool != Tool::own() {
            return Err(ShardsError::Version { file: name, of: of() });
        }
        let Ok(shard) = head.shard.parse() else { return Err(ShardsError::NoResults { file: name }) };
        Ok(ShardFile { name, shard, head, lines, line: 1, text, policies: Vec::new(), found: 0 })
    }

    /// Which objects it has results of.
    pub fn shard(&self) -> Shard {
        self.shard
    }

    /// How many results there are of each status.
    pub fn counts(&self) -> Counts {
        self.head.summary.into()
    }

    /// The next result; policies are those of `known` where they are the same.
    pub(crate) fn next(
        &mut self,
        known: &mut HashSet<Arc<PolicyInfo>>,
    ) -> Result<Option<Finding>, ShardsError> {
        loop {
            self.text.clear();
            let read = self.lines.read_line(&mut self.text);
            self.line += 1;
            let wrong = |why: String| ShardsError::Line { file: self.name.clone(), line: self.line, why };
            match read {
                Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                    return Err(wrong("this line is no text".into()));
                }
                Err(cause) => return Err(ShardsError::Read { file: self.name.clone(), cause }),
                Ok(_) if !self.text.ends_with('\n') => {
                    // The end, or a line that breaks off.
                    let (found, wanted) = (self.found, self.head.results);
                    let is_whole = self.text.is_empty() && found == wanted;
                    return match is_whole {
                        true => Ok(None),
                        false => {
                            let (file, shard) = (self.name.clone(), self.shard);
                            Err(ShardsError::Truncated { file, found, wanted, shard })
                        }
                    };
                }
                Ok(_) => {}
            }
            match serde_json::from_str::<Line<String>>(&self.text) {
                Ok(Line::Policy(line)) => {
                    let policy = line.policy().ok_or_else(|| wrong("no such severity".into()))?;
                    let policy = Arc::new(policy);
                    let policy = known.get(&policy).cloned().unwrap_or(policy);
                    known.insert(policy.clone());
                    self.policies.push(policy);
                }
                Ok(Line::Result(line)) => {
                    let finding = line.finding(&self.policies);
                    let finding = finding.ok_or_else(|| wrong("no such policy, or no such result".into()))?;
                    self.found += 1;
                    return Ok(Some(finding));
                }
                Ok(Line::Run(_)) => return Err(wrong("a second run begins here".into())),
                Err(error) => return Err(wrong(error.to_string())),
            }
        }
    }
}

/// What wrote a first line that is not of this version.
fn written_by(text: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let tool = value.get("run")?.get("tool")?;
    Some(format!("{} {}", tool.get("name")?.as_str()?, tool.get("version")?.as_str()?))
}

/// The shards of which there is no file, from 1, and how many there should be; none where no file
/// is there.
pub fn missing<R>(files: &[ShardFile<R>]) -> Option<(Vec<u32>, NonZero<u32>)> {
    let of = files.first()?.shard.of();
    let has = |index: u32| files.iter().any(|file| file.shard.index() == index);
    Some(((0..of).filter(|index| !has(*index)).map(|index| index + 1).collect(), NonZero::new(of)?))
}

/// The digest of texts on which the results of a run depend.
pub fn run_id(texts: impl IntoIterator<Item = String>) -> String {
    use sha2::Digest;
    let mut digest = sha2::Sha256::new();
    for text in texts {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text);
    }
    hex(digest.finalize().iter().take(16))
}

/// Merges the results of all shards of a run.
///
/// # Errors
/// A file is no whole file of results, the files are not of one run, a shard is missing or there
/// twice, or there is no room for the results.
pub fn merge<R: BufRead>(mut files: Vec<ShardFile<R>>) -> Result<Run, ShardsError> {
    files.sort_by_key(|file| file.shard.index());
    check(&files)?;
    let mut known = HashSet::new();
    let mut next: Vec<Option<Finding>> = Vec::new();
    for file in &mut files {
        next.push(file.next(&mut known)?);
    }
    let mut findings = Findings::default();
    let order = |(at, finding): (usize, &Option<Finding>)| {
        finding.as_ref().map(|finding: &Finding| (finding.order, at))
    };
    while let Some((_, at)) = next.iter().enumerate().filter_map(order).min() {
        let (Some(file), Some(place)) = (files.get_mut(at), next.get_mut(at)) else { break };
        let following = file.next(&mut known)?;
        if let Some(finding) = std::mem::replace(place, following) {
            let is_behind = |next: &Finding| next.order >= finding.order;
            if !place.as_ref().is_none_or(is_behind) {
                let (file, line) = (file.name.clone(), file.line);
                return Err(ShardsError::Line { file, line, why: "results are not in order".into() });
            }
            findings.push(finding)?;
        }
    }
    Ok(merged(findings, files))
}

/// The run of all files.
fn merged<R>(mut findings: Findings, files: Vec<ShardFile<R>>) -> Run {
    let mut counts = Counts::default();
    let mut run = Run::default();
    let mut notes: Vec<Note> = Vec::new();
    for (at, ShardFile { head, .. }) in files.into_iter().enumerate() {
        counts.merge(&head.summary.into());
        run.resources += head.resources;
        run.seconds = run.seconds.max(head.seconds);
        run.fails |= head.fails;
        let own: Vec<Note> = head.notes.into_iter().map(Note::from).collect();
        if at == 0 {
            notes = own;
            run.violations_only = head.violations_only;
            run.policies = head.policies;
            run.roots = head.roots;
            run.invocation = head.invocation.into();
            run.about = head.about;
            run.id = head.id;
        } else {
            notes.extend(own.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>());
        }
    }
    findings.count(counts);
    Run { findings, notes, ..run }
}

/// Whether these are the files of all shards of one run, which are in order.
fn check<R>(files: &[ShardFile<R>]) -> Result<(), ShardsError> {
    let of_run = |file: &ShardFile<R>| (file.head.id.clone(), file.shard.of(), file.head.violations_only);
    for pair in files.windows(2) {
        let [first, second] = pair else { continue };
        let names = || (first.name.clone(), second.name.clone());
        if of_run(first) != of_run(second) {
            let (first, second) = names();
            return Err(ShardsError::OtherRun { first, second });
        }
        if first.shard == second.shard {
            let (shard, (first, second)) = (first.shard, names());
            return Err(ShardsError::Twice { shard, first, second });
        }
    }
    match missing(files) {
        Some((missing, of)) if !missing.is_empty() => Err(ShardsError::Missing { missing, of: of.get() }),
        _ => Ok(()),
    }
}

/// Shards by their numbers: the first ones, and how many more there are.
fn missing_shards(numbers: &[u32], of: u32) -> String {
    const SHOWN: usize = 10;
    let shown: Vec<String> = numbers.iter().take(SHOWN).map(|number| format!("{number}/{of}")).collect();
    let more = numbers.len().saturating_sub(SHOWN);
    let shards = if numbers.len() == 1 { "shard" } else { "shards" };
    match more {
        0 => format!("{shards} {}", shown.join(", ")),
        more => format!("{shards} {} and {more} more", shown.join(", ")),
    }
}
