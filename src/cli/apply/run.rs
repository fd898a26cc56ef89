//! A run of `apply`: what was loaded, and how it is shown.
//!
//! `evaluate` and `render` read it; it stays as it is from the time when everything is loaded.

use std::time::Instant;

use ephor_document::Document;
use ephor_engine::Request;
use ephor_engine::request::NoObjects;
use ephor_policies::policy_set::Engine;
use ephor_report::run::Invocation;

use super::inputs::Inputs;
use super::log::Log;
use super::options::ApplyArgs;
use super::output_options::OutputOptions;
use super::render::baseline::Baseline;
use super::render::changes::Destination;

/// A run of `apply`.
pub(super) struct Run<'r> {
    /// The flags.
    pub args: &'r ApplyArgs,
    /// The flags about output, as they count together.
    pub options: OutputOptions,
    /// Where warnings go.
    pub log: Log,
    /// When it began.
    pub started: Instant,
    /// Everything that was loaded.
    pub inputs: Inputs,
    /// Where changed and new objects go.
    pub destination: Destination,
    /// The arguments, for commands that read a part of the run.
    pub invocation: Invocation,
    /// Violations that are known.
    pub baseline: Baseline,
}

impl Run<'_> {
    /// The request of a resource.
    ///
    /// # Errors
    /// It is no object.
    pub(super) fn request(&self, resource: &Document, engine: &Engine) -> Result<Request, NoObjects> {
        self.inputs.requests.of(resource.value.clone(), None, engine)
    }
}
