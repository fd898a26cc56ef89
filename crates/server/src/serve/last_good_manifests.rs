//! Static manifests in use: what was last loaded of their folders, and when it is replaced.
//!
//! In: the folders as they are now. Out: their policies, all or nothing. A change is used when it
//! has stayed the same for [`SETTLE`], so that files being written are not read half; with a
//! mistake in one manifest everything stays as it was, as in kube-apiserver 1.37.2. Manifests that
//! are removed are given up like any other change. Semantics: `docs/semantics/admission.md`,
//! "Static manifests".

use std::time::{Duration, Instant};

use ephor_policies::load::Policies;
use ephor_policies::load::manifests::{ManifestFolder, of_folders};
use ephor_value::release::Release;

use super::last_good_files::SETTLE;

/// See the module page.
#[derive(Default)]
pub struct LastGoodManifests {
    /// What is in use, and what it was loaded from.
    in_use: Option<(Vec<ManifestFolder>, Policies)>,
    /// What is not in use yet, and since when it is there.
    pending: Option<(Vec<ManifestFolder>, Instant)>,
}

impl LastGoodManifests {
    /// Takes the folders as they are now. What is wrong with them is added to `problems`, and to
    /// `lost` when nothing was in use before.
    pub fn update(
        &mut self,
        folders: &[ManifestFolder],
        release: Release,
        now: Instant,
        problems: &mut Vec<String>,
        lost: &mut Vec<String>,
    ) -> Policies {
        if let Some((from, policies)) = &self.in_use {
            if from == folders {
                self.pending = None;
                return policies.clone();
            }
            if self.pending.as_ref().is_none_or(|(pending, _)| pending != folders) {
                self.pending = Some((folders.to_vec(), now));
            }
            if self.again(now).is_some() {
                return policies.clone();
            }
        }
        match (of_folders(folders, release), &self.in_use) {
            (Ok(policies), _) => {
                self.pending = None;
                self.in_use = Some((folders.to_vec(), policies.clone()));
                policies
            }
            (Err(error), Some((_, policies))) => {
                problems.push(format!("{error} (the last usable static manifests stay in use)"));
                policies.clone()
            }
            (Err(error), None) => {
                problems.push(error.to_string());
                lost.push("static manifests".into());
                Policies::default()
            }
        }
    }

    /// When to read again, even if nothing changes.
    pub fn again(&self, now: Instant) -> Option<Duration> {
        let (_, since) = self.pending.as_ref()?;
        Some(SETTLE.saturating_sub(now.saturating_duration_since(*since))).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests;
