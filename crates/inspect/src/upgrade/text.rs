//! The report for people: sentences first, then tables, as text or Markdown.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::{Conflict, PolicyRow};
use crate::upgrade::report::Report;

/// What the report comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The sentences.
    pub sentences: Vec<String>,
    /// How many policies stop having effect.
    pub stopping: usize,
    /// How many of them do more than reporting.
    pub enforcing: usize,
    /// How many of them deny requests.
    pub denying: usize,
    /// How many of all policies `ephor` takes.
    pub taken: usize,
    /// How many exceptions stop having effect.
    pub exceptions: usize,
}

fn of(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Whether this version of Kyverno ignores deprecated kinds.
fn ignores(version: &str) -> bool {
    let mut numbers = version.trim_start_matches('v').split('.').map(|part| part.parse::<u32>().ok());
    let (major, minor) = (numbers.next().flatten(), numbers.next().flatten());
    major.zip(minor).is_some_and(|version| version >= (1, 20))
}

/// A table: its heads and rows.
struct Table {
    title: &'static str,
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Report {
    /// What the report comes to.
    pub fn summary(&self) -> Summary {
        let stops: Vec<&PolicyRow> = self.policies.iter().filter(|p| p.stops).collect();
        let count = |test: fn(&PolicyRow) -> bool| stops.iter().filter(|p| test(p)).count();
        let (stopping, enforcing, denying) =
            (stops.len(), count(PolicyRow::is_enforcing), count(PolicyRow::is_denying));
        let taken = self.policies.iter().filter(|p| p.is_taken()).count();
        let exceptions = self.exceptions.iter().filter(|e| e.stops).count();
        let mut sentences = vec![self.who_runs()];
        let has_stopped = self.kyverno.iter().any(|component| ignores(&component.version));
        sentences.push(match (stopping, self.policies.len()) {
            (0, 0) => "There are no policies of Kyverno.".into(),
            (0, all) => format!(
                "No policy stops having effect with Kyverno 1.20 (of {}).",
                of(all, "policy", "policies")
            ),
            (_, _) if has_stopped => {
                let have = if stopping == 1 { "has" } else { "have" };
                let policies = of(stopping, "policy", "policies");
                format!("{policies} {have} no effect: Kyverno ignores such kinds from 1.20 on, and 1.21 removes them.")
            }
            (1, _) => "1 policy stops having effect with Kyverno 1.20, and 1.21 removes its kind.".into(),
            _ => format!(
                "{stopping} policies stop having effect with Kyverno 1.20, and 1.21 removes their kinds."
            ),
        });
        if stopping > 0 && !has_stopped {
            let acts = if enforcing == 1 { "acts" } else { "act" };
            let denies = if denying == 1 { "denies" } else { "deny" };
            sentences.push(format!(
                "{enforcing} of them {acts} on requests or objects today; {denying} {denies} requests."
            ));
        }
        if stopping > 0 && !has_stopped {
            sentences.push(
                "The chart of Kyverno 1.20 refuses the upgrade while they are stored, unless `upgrade.allowLegacyPolicies=true` is set (kyverno#17490, #17534)."
                    .into(),
            );
            sentences.push(
                "Its webhook then denies creating and changing them (kyverno#17535), and its command line refuses files with them (kyverno#17553)."
                    .into(),
            );
        }
        if exceptions > 0 {
            let what = match (exceptions, has_stopped) {
                (1, true) => "has no effect either",
                (_, true) => "have no effect either",
                (1, false) => "stops having effect as well",
                (_, false) => "stop having effect as well",
            };
            sentences.push(format!("{} {what}.", of(exceptions, "exception", "exceptions")));
        }
        let all = self.policies.len();
        if all > 0 {
            sentences.push(match all - taken {
                0 if all == 1 => "ephor takes the policy.".into(),
                0 => format!("ephor takes all {all} policies."),
                _ => format!("ephor takes {taken} of {}.", of(all, "policy", "policies")),
            });
        }
        let missing = self.exceptions.iter().filter(|e| !e.missing.is_empty()).count();
        if missing > 0 {
            let names = if missing == 1 {
                "names a policy or rule that is"
            } else {
                "name policies or rules that are"
            };
            sentences.push(format!("{} {names} not there.", of(missing, "exception", "exceptions")));
        }
        Summary { sentences, stopping, enforcing, denying, taken, exceptions }
    }

    fn who_runs(&self) -> String {
        let versions: BTreeSet<&str> = self
            .kyverno
            .iter()
            .map(|c| if c.version.is_empty() { "of an unknown version" } else { &c.version })
            .collect();
        if !versions.is_empty() {
            let versions: Vec<&str> = versions.into_iter().collect();
            return format!(
                "Kyverno {} runs: {}.",
                versions.join(" and "),
                of(self.kyverno.len(), "Deployment", "Deployments")
            );
        }
        match self.is_live {
            true => "No Deployment of Kyverno was found.".into(),
            false => "Read from files: what runs in the cluster is not known.".into(),
        }
    }

    fn tables(&self) -> Vec<Table> {
        let has_places = self.policies.iter().any(|p| !p.place.is_empty());
        let mut heads = vec!["policy", "does", "on failure", "status", "Kyverno 1.20", "ephor"];
        if has_places {
            heads.push("at");
        }
        let policy = |p: &PolicyRow| {
            let acts: Vec<&str> = p.acts.iter().map(|act| act.word()).collect();
            let mut acts = if acts.is_empty() { "nothing".into() } else { acts.join(", ") };
            if let Some(generated) = p.generated {
                let _ = write!(acts, " ({})", of(generated, "object", "objects"));
            }
            let status = match p.is_ready {
                Some(true) => "ready",
                Some(false) => "not ready",
                None => "unknown",
            };
            let kyverno = match (&p.successor, p.stops) {
                (Some(successor), _) => format!("no effect; {successor} stays"),
                (None, true) => "no effect".into(),
                (None, false) => "stays".into(),
            };
            let failure = if p.failure_policy.is_empty() { "-" } else { &p.failure_policy };
            let ephor = if p.is_taken() { "takes it" } else { "does not take it" };
            let mut row = vec![p.title(), acts, failure.into(), status.into(), kyverno, ephor.into()];
            if has_places {
                row.push(p.place.clone());
            }
            row
        };
        let obstacles = self.policies.iter().flat_map(|p| {
            p.obstacles.iter().map(|o| {
                let path = if o.path.is_empty() { "-" } else { &o.path };
                vec![p.title(), path.to_string(), o.reason.clone()]
            })
        });
        let of_exceptions = self.exceptions.iter().filter_map(|e| {
            let obstacle = e.obstacle.as_ref()?;
            Some(vec![format!("PolicyException {}", e.name), "-".into(), obstacle.to_string()])
        });
        let exceptions = self.exceptions.iter().map(|e| {
            let kyverno = if e.stops { "no effect" } else { "stays" };
            let missing = if e.missing.is_empty() { "-".into() } else { e.missing.join(", ") };
            vec![e.name.clone(), e.api_version.clone(), kyverno.into(), missing]
        });
        let webhooks = self.webhooks.iter().map(|w| {
            let note = match w.conflict {
                None => "-",
                Some(Conflict::Own) => "ephor's name: --take-over replaces it",
                Some(Conflict::Kyverno) => "only with --kyverno-names: --take-over replaces it",
            };
            vec![format!("{} {}", w.kind, w.name), w.owner.clone(), note.into()]
        });
        let rights = self.rights.iter().map(|r| {
            let resource =
                if r.group.is_empty() { r.resource.clone() } else { format!("{}.{}", r.resource, r.group) };
            vec![resource, r.verbs.join(", "), r.policies.join(", ")]
        });
        let definitions =
            self.definitions.iter().map(|d| vec![d.name.clone(), d.served.join(", "), d.stored.clone()]);
        let components =
            self.kyverno.iter().map(|c| vec![c.name.clone(), c.version.clone(), c.image.clone()]);
        let table = |title, heads: &[&'static str], rows: Vec<Vec<String>>| Table {
            title,
            heads: heads.to_vec(),
            rows,
        };
        let all = vec![
            table("Kyverno", &["Deployment", "version", "image"], components.collect()),
            Table { title: "Policies", heads, rows: self.policies.iter().map(policy).collect() },
            table(
                "What ephor does not take",
                &["object", "path", "reason"],
                obstacles.chain(of_exceptions).collect(),
            ),
            table("Exceptions", &["exception", "version", "Kyverno 1.20", "not there"], exceptions.collect()),
            table("Webhook configurations", &["configuration", "owner", "conflict"], webhooks.collect()),
            table("Permissions that policies need", &["resource", "verbs", "policies"], rights.collect()),
            table("Definitions", &["definition", "served", "stored"], definitions.collect()),
            table("Not read", &["what"], self.unread.iter().map(|text| vec![text.clone()]).collect()),
        ];
        all.into_iter().filter(|table| !table.rows.is_empty()).collect()
    }

    /// The report as text.
    pub fn to_text(&self) -> String {
        let mut out = self.summary().sentences.join("\n") + "\n";
        for table in self.tables() {
            let _ = write!(out, "\n{}\n", table.title);
            let widths: Vec<usize> = (0..table.heads.len())
                .map(|i| {
                    let cells = table.rows.iter().filter_map(|row| row.get(i));
                    let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
                    widest.max(table.heads.get(i).map_or(0, |head| head.len()))
                })
                .collect();
            let heads: Vec<String> = table.heads.iter().map(|head| head.to_uppercase()).collect();
            for row in std::iter::once(&heads).chain(&table.rows) {
                let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
                let line = cells.collect::<Vec<_>>().join("  ");
                let _ = writeln!(out, "  {}", line.trim_end());
            }
        }
        out
    }

    /// The report as Markdown.
    pub fn to_markdown(&self) -> String {
        let sentences = self.summary().sentences;
        let mut out = String::from("# Before an upgrade of Kyverno\n\n");
        sentences.iter().for_each(|sentence| {
            let _ = writeln!(out, "- {sentence}");
        });
        for table in self.tables() {
            let _ = write!(out, "\n## {}\n\n", table.title);
            let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
            out.push_str(&line(table.heads.iter().map(ToString::to_string).collect()));
            out.push_str(&line(table.heads.iter().map(|_| "---".to_string()).collect()));
            for row in table.rows {
                out.push_str(&line(row.iter().map(|cell| cell.replace('|', "\\|")).collect()));
            }
        }
        out
    }
}
