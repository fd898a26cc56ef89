//! The report as an object, for programs.

use ephor_value::Value;

use super::Conflict;
use crate::upgrade::report::Report;

fn texts<T: AsRef<str>>(all: &[T]) -> Value {
    Value::list(all.iter().map(|text| text.as_ref().into()).collect())
}

fn list<T>(all: &[T], one: impl Fn(&T) -> Value) -> Value {
    Value::list(all.iter().map(one).collect())
}

fn count(number: usize) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// An object without members that say nothing.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let has_value = |value: &Value| !value.is_null() && value.as_str() != Some("");
    let present = members.into_iter().filter(|(_, value)| has_value(value));
    Value::Map(present.map(|(key, value)| (key.into(), value)).collect())
}

impl Report {
    /// The report as an object: `summary` with counts, and a list for each part.
    pub fn to_value(&self) -> Value {
        let summary = self.summary();
        let counts = Value::map([
            ("text", texts(&summary.sentences)),
            ("stopping", count(summary.stopping)),
            ("enforcing", count(summary.enforcing)),
            ("denying", count(summary.denying)),
            ("policies", count(self.policies.len())),
            ("taken", count(summary.taken)),
            ("exceptionsStopping", count(summary.exceptions)),
        ]);
        let policies = list(&self.policies, |p| {
            object([
                ("apiVersion", (&*p.api_version).into()),
                ("kind", (&*p.kind).into()),
                ("namespace", (&*p.namespace).into()),
                ("name", (&*p.name).into()),
                ("place", (&*p.place).into()),
                ("stops", Value::Bool(p.stops)),
                ("does", list(&p.acts, |act| act.word().into())),
                ("enforcing", Value::Bool(p.is_enforcing())),
                ("failurePolicy", (&*p.failure_policy).into()),
                ("ready", p.is_ready.map_or(Value::Null, Value::Bool)),
                ("successor", p.successor.as_deref().unwrap_or_default().into()),
                ("taken", Value::Bool(p.is_taken())),
                (
                    "problems",
                    list(&p.obstacles, |o| {
                        object([("path", (&*o.path).into()), ("reason", (&*o.reason).into())])
                    }),
                ),
                ("generatedObjects", p.generated.map_or(Value::Null, count)),
            ])
        });
        let exceptions = list(&self.exceptions, |e| {
            object([
                ("apiVersion", (&*e.api_version).into()),
                ("name", (&*e.name).into()),
                ("place", (&*e.place).into()),
                ("stops", Value::Bool(e.stops)),
                ("missing", texts(&e.missing)),
                ("taken", Value::Bool(e.obstacle.is_none())),
                ("problem", e.obstacle.as_ref().map_or(Value::Null, |o| o.to_string().into())),
            ])
        });
        let webhooks = list(&self.webhooks, |w| {
            let conflict = w.conflict.map_or(Value::Null, |conflict| match conflict {
                Conflict::Own => "ephor".into(),
                Conflict::Kyverno => "--kyverno-names".into(),
            });
            object([
                ("kind", (&*w.kind).into()),
                ("name", (&*w.name).into()),
                ("owner", (&*w.owner).into()),
                ("conflictsWith", conflict),
            ])
        });
        let rights = list(&self.rights, |r| {
            Value::map([
                ("apiGroups", texts(&[&r.group])),
                ("resources", texts(&[&r.resource])),
                ("verbs", texts(&r.verbs)),
                ("policies", texts(&r.policies)),
            ])
        });
        let definitions = list(&self.definitions, |d| {
            Value::map([
                ("name", (&*d.name).into()),
                ("served", texts(&d.served)),
                ("stored", (&*d.stored).into()),
            ])
        });
        let kyverno = list(&self.kyverno, |c| {
            object([
                ("deployment", (&*c.name).into()),
                ("image", (&*c.image).into()),
                ("version", (&*c.version).into()),
            ])
        });
        Value::map([
            ("summary", counts),
            ("kyverno", kyverno),
            ("policies", policies),
            ("exceptions", exceptions),
            ("webhookConfigurations", webhooks),
            ("permissions", rights),
            ("definitions", definitions),
            ("unread", texts(&self.unread)),
        ])
    }
}
