//! Entries of reports of namespaced policies, by policy.
//!
//! In: entries in input order. Out: those of each report, with their counts, in the order of their
//! first ones.

use std::collections::HashMap;

use ephor_report::policy_report::Summary;
use ephor_report::spool::{SpoolError, SpoolReader, Spools};

/// The reports of namespaced policies.
#[derive(Debug, Default)]
pub(in crate::cli::apply) struct NamespacedReports {
    entries: Spools,
    /// The key of the policy, `namespace/name`, and the counts.
    reports: Vec<(String, Summary)>,
    by_key: HashMap<String, usize>,
}

impl NamespacedReports {
    /// Adds entries, to the report of their policy where they are `merged`, else as one of their
    /// own.
    ///
    /// # Errors
    /// There is no room for them, in memory and on the disk.
    pub fn add(&mut self, key: String, text: &str, counts: &Summary, merged: bool) -> Result<(), SpoolError> {
        let at = match self.by_key.get(&key).copied().filter(|_| merged) {
            Some(at) => at,
            None => {
                let at = self.entries.add();
                self.by_key.entry(key.clone()).or_insert(at);
                self.reports.push((key, Summary::default()));
                at
            }
        };
        if let Some((_, sum)) = self.reports.get_mut(at) {
            sum.merge(counts);
        }
        self.entries.push(at, text.as_bytes())
    }

    /// How many reports there are.
    pub fn len(&self) -> usize {
        self.reports.len()
    }

    /// Namespace, name, counts and entries of each report.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &Summary, SpoolReader<'_>)> {
        self.reports.iter().enumerate().map(|(at, (key, counts))| {
            let (namespace, name) = key.split_once('/').unwrap_or(("", key));
            (namespace, name, counts, self.entries.reader(at))
        })
    }
}
