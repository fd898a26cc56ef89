//! Payloads of any form, and check requests of proxies.
//!
//! In: flags. Out: documents of files, which are read and nothing else.

use ephor_ir::expressions::Proxy;
use ephor_ir::facts::Stage;
use ephor_policies::load::{LoadedPolicy, Policies};
use ephor_sources::payload;
use ephor_value::Value;

use super::super::log::Log;
use super::super::options::Payloads;
use crate::cli::CommandError;

/// A check request with the proxy that sends it.
pub(in crate::cli) type CheckRequest = (Proxy, Value);

/// Reads the payloads of any form; that no policy checks them is a warning.
///
/// # Errors
/// A file that cannot be read.
pub(super) fn payloads(flags: &Payloads, policies: &Policies, log: &Log) -> Result<Vec<Value>, CommandError> {
    let read = |path: &String| Ok(payload::any_form(path)?.with_float_numbers());
    let all: Result<Vec<Value>, CommandError> = flags.any_form().iter().map(read).collect();
    let all = all?;
    let looks = |p: &LoadedPolicy| p.policy.as_ref().is_some_and(|p| p.stage == Stage::Payloads);
    if !all.is_empty() && !policies.policies.iter().any(looks) {
        log.warn("payloads are checked by ValidatingPolicy objects in JSON mode only, and none is given");
    }
    Ok(all)
}

/// Reads the check requests of proxies.
///
/// # Errors
/// A file that cannot be read.
pub(super) fn check_requests(flags: &Payloads) -> Result<Vec<CheckRequest>, CommandError> {
    let read = |paths: Vec<String>, proxy: Proxy| -> Result<Vec<CheckRequest>, CommandError> {
        paths.iter().map(|path| Ok((proxy, payload::check_request(path, proxy)?))).collect()
    };
    let envoy = read(flags.envoy_checks(), Proxy::Envoy)?;
    let mut all = read(flags.http_checks(), Proxy::Http)?;
    all.extend(envoy);
    Ok(all)
}
