//! `ephor explain`: the lowered rules of policies, and why they decide as they do.
//!
//! - `decisions`: `ephor explain POLICY -r RESOURCE`: what policies decide about resources, and
//!   why.
//! - `options`: the flags of `explain`.

pub(super) mod decisions;
mod options;

use ephor_inspect::explain::{self, Explained, Wanted};
use ephor_policies::load::{self, Policies};
use ephor_sources::files;
use ephor_value::suggest::did_you_mean;

use super::CommandError;
use crate::cli::arguments::{Global, given, some_policies};
use crate::cli::console;
use crate::cli::policy_files::exists;
pub use options::ExplainArgs;
use options::ExplainFormat;

/// Runs the command.
///
/// # Errors
/// No policy, no such rule.
pub fn run(args: ExplainArgs, global: &Global) -> Result<i32, CommandError> {
    let args = &args.configured()?;
    args.console.apply();
    let arguments = some_policies(&args.policies)?;
    if !args.input.resources().is_empty() {
        arguments.iter().try_for_each(|argument| exists(argument))?;
        return decisions::run(args, global);
    }
    if given(&args.decisions.object).is_some() {
        return Err(CommandError::ObjectWithoutResources);
    }
    let mut policies = policies(arguments)?;
    if let Some(name) = given(&args.decisions.policy) {
        decisions::only(&mut policies.policies, name)?;
    }
    let kind = given(&args.kind);
    let all: Vec<Explained> = policies.policies.iter().flat_map(|p| explain::rules(p, kind)).collect();
    let rule = given(&args.rule);
    let chosen: Vec<&Explained> = all.iter().filter(|r| rule.is_none_or(|name| r.rule == name)).collect();
    if chosen.is_empty() {
        return Err(nothing(&all, rule, kind));
    }
    for p in &policies.policies {
        if let Some(why) = &p.refused {
            console::warn(&format!("{}:{}: policy `{}` is refused: {why}", p.source, p.line, p.name));
        }
    }
    if args.output_format == ExplainFormat::Json {
        let wanted = Wanted { rule, kind, as_lowered: args.as_lowered };
        let bundle = explain::bundle(&policies, wanted);
        console::print(&format!("{}\n", bundle.write()?));
    } else {
        console::print(&chosen.iter().map(|r| r.text()).collect::<Vec<_>>().join("\n"));
    }
    Ok(0)
}

/// Loads the policies; what is skipped is printed as a warning, and is an error when nothing is
/// left.
fn policies(arguments: &[String]) -> Result<Policies, CommandError> {
    let mut all = Policies::default();
    let mut warnings = Vec::new();
    for argument in arguments {
        exists(argument)?;
        let loaded = files::policies(std::slice::from_ref(argument));
        warnings.extend(loaded.notices.iter().map(|n| format!("{}: {}", n.place, n.text)));
        all.extend(load::argument_for(&loaded.sources, load::Reader::AllExceptions));
    }
    warnings.extend(all.problems.iter().map(ToString::to_string));
    warnings.extend(
        all.cleanups.iter().map(|c| format!("{} `{}` has no rules", c.policy.api.kind, c.policy.key())),
    );
    if all.policies.is_empty() {
        return Err(CommandError::NoPolicyFound { arguments: arguments.join(", "), causes: warnings });
    }
    for text in warnings {
        console::warn(&text);
    }
    Ok(all)
}

fn nothing(all: &[Explained], rule: Option<&str>, kind: Option<&str>) -> CommandError {
    let kind = kind.map(String::from);
    let Some(rule) = rule else { return CommandError::NoRules { kind } };
    let names: Vec<&str> = all.iter().map(|r| &*r.rule).collect();
    let meant = did_you_mean(rule, &names).map(String::from);
    let names = names.iter().map(ToString::to_string).collect();
    CommandError::NoRule { rule: rule.into(), kind, meant, names }
}
