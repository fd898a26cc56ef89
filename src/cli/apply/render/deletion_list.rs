//! `apply --deletions`: which resources would be deleted, by what, and when.
//!
//! In: resources and cleanup policies. Out: a list behind all other results: the runs of cleanup
//! policies that select a resource, and labels that end its life. Semantics:
//! `docs/reference/cli.md`, "Deletions".

use std::io::Write;

use ephor_engine::Status;
use ephor_engine::images::Images;
use ephor_matching::Target;
use ephor_policies::policy_set::Engine;
use ephor_value::Value;
use ephor_value::cron::Cron;
use ephor_value::time::Time;
use ephor_value::ttl::Ttl;

use super::super::object_path::path;
use super::super::run::Run;

const LABEL: &str = "cleanup.kyverno.io/ttl";

impl Run<'_> {
    /// Writes the list.
    pub(crate) fn write_deletions(&self, engine: &Engine, now: i64, out: &mut impl Write) {
        let mut lines = Vec::new();
        for cleanup in &self.inputs.policies.cleanups {
            let mut sweep = engine.sweep(cleanup);
            let since = [&cleanup.last_run, &cleanup.created].into_iter().find_map(|text| seconds(text));
            let when = match Cron::parse(&cleanup.schedule) {
                None => format!("never: `{}` is no schedule", cleanup.schedule),
                Some(cron) => cron.next(since.unwrap_or(now)).map_or("never".into(), format_time),
            };
            for object in self.inputs.objects.own() {
                let object = &object.document.value;
                let images = Images::of(object.clone(), engine.functions());
                let mut target = Target::of(object);
                let namespace = self.inputs.requests.namespace(object);
                let labels = namespace.at(&["metadata", "labels"]).and_then(Value::as_map);
                target.namespace_labels = labels.cloned().unwrap_or_default();
                if sweep.on(object, &target, &images).status == Status::Pass {
                    let policy = &cleanup.policy;
                    lines.push(format!("{}: {when} ({} `{}`)", path(object), policy.api.kind, policy.key()));
                }
            }
        }
        for object in self.inputs.objects.own().map(|object| &object.document.value) {
            if let Some(label) = object.at(&["metadata", "labels", LABEL]).and_then(Value::as_str) {
                lines.push(format!("{}: {} (label `{LABEL}: {label}`)", path(object), end(object, label)));
            }
        }
        let _ = writeln!(out, "\nDeletions:");
        if lines.is_empty() {
            let _ = writeln!(out, "  none");
        }
        for line in lines {
            let _ = writeln!(out, "  {line}");
        }
    }
}

/// When the label ends an object's life.
fn end(object: &Value, label: &str) -> String {
    let created = seconds(object.text_at(&["metadata", "creationTimestamp"]));
    match (Ttl::parse(label), created) {
        (None, _) => "never: neither a duration nor a date".into(),
        (Some(Ttl::At(moment)), _) => format_time(moment),
        (Some(Ttl::After(length)), Some(created)) => {
            created.checked_add(length.div_euclid(1_000_000_000)).map_or("never".into(), format_time)
        }
        (Some(Ttl::After(length)), None) => {
            format!("{} after its creation", ephor_value::duration::format(length))
        }
    }
}

fn seconds(text: &str) -> Option<i64> {
    let time = Time::parse_rfc3339(text).ok()?;
    i64::try_from(time.unix_nanos().div_euclid(1_000_000_000)).ok()
}

fn format_time(seconds: i64) -> String {
    Time::from_unix(seconds).utc().rfc3339_nano()
}
