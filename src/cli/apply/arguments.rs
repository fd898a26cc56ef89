//! What `apply` reads, as a value: `explain` reads the same, so that both decide alike.

use ephor_engine::Profile;
use ephor_report::run::Severity;
use ephor_value::shard::Shard;

use super::inputs::selection::Selection;
use super::options::{ClusterOptions, InputFlags, Payloads, Repository, ValueFlags};
use crate::cli::arguments::Global;

/// What is loaded.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct InputArguments<'a> {
    /// Files, folders, addresses, repositories and bundles with policies.
    pub policies: &'a [String],
    /// Objects.
    pub input: &'a InputFlags,
    /// What policies are applied on, objects aside.
    pub payloads: Option<&'a Payloads>,
    /// What expressions read in addition.
    pub values: &'a ValueFlags,
    /// How repositories are read.
    pub repository: Option<&'a Repository>,
    /// The cluster in place of files, if there is one.
    pub cluster: Option<(&'a ClusterOptions, &'a Global)>,
    /// Whether rules may look up images.
    pub registry: bool,
    /// Whether deprecated kinds are worth a word.
    pub deprecations: bool,
    /// Whether deprecation warnings are errors.
    pub warnings_as_errors: bool,
    /// Whether a line says how much was loaded.
    pub announces: bool,
    /// Whether results carry what only reports show.
    pub details: bool,
    /// Whether objects may be read block by block: nothing shows all of them together.
    pub streams: bool,
    /// The part of the objects that policies are applied on.
    pub shard: Shard,
    /// Severities by the names of policies, in the place of their own.
    pub severities: &'a [(String, Severity)],
    /// The fidelity profile.
    pub profile: Profile,
}

impl InputArguments<'_> {
    /// Which objects policies are applied on.
    pub fn selection(&self) -> Selection {
        Selection { shard: self.shard, kinds: self.input.kinds() }
    }
}
