//! Mutating webhooks: one after the other, each on the object that those before it have left.

use ephor_engine::admission::converted;
use ephor_engine::admission::{Denial, Review};
use ephor_functions::Context;
use ephor_ir::webhook::Webhook;
use ephor_kubernetes::convert::{changed_kind, with_kind};
use ephor_kubernetes::decode::problems;
use ephor_kubernetes::defaults::completed;
use ephor_kubernetes::prune::pruned;
use ephor_matching::constraints::Accepted;
use ephor_patch::apply::apply_in_order;
use ephor_value::print::write_json_string;
use ephor_value::{Str, Value};

use super::answer::{self, Response};
use super::call::{Event, Log, Server};
use super::failure::Failure;
use super::matching::{WebhookDecision, Why, decide};

const MUTATION: &str = "mutation.webhook.admission.k8s.io/";
const PATCH: &str = "patch.webhook.admission.k8s.io/";
const FAILED_OPEN: &str = "failed-open.mutation.webhook.admission.k8s.io/";

/// The rounds of all mutating webhooks over one request.
pub(super) struct Hooks<'s> {
    server: &'s Server<'s>,
    review: &'s Review,
    cx: Context,
    /// Whether a webhook has changed the object.
    pub(super) changed: bool,
    /// The webhooks that were called and may be called again, by position.
    ran: Vec<usize>,
    /// The webhooks that are to be called again.
    marked: Vec<usize>,
    /// The object as the last round left it.
    last: Option<Value>,
    /// Whether the object's times still have parts of seconds, which the first patch takes from
    /// them.
    fresh: bool,
}

impl<'s> Hooks<'s> {
    pub(super) fn new(review: &'s Review, server: &'s Server<'s>) -> Hooks<'s> {
        let a = &review.attributes;
        let custom = server.cluster.types().of_kind(&a.kind).is_none_or(|def| def.custom);
        let written = match &*a.operation {
            "CREATE" => true,
            "UPDATE" => !review.object().json_eq(&review.part("oldObject")),
            _ => false,
        };
        Hooks {
            server,
            review,
            cx: server.cluster.functions(review),
            changed: false,
            ran: Vec::new(),
            marked: Vec::new(),
            last: None,
            fresh: written && !custom,
        }
    }

    fn mark(&mut self) {
        for i in std::mem::take(&mut self.ran) {
            if !self.marked.contains(&i) {
                self.marked.push(i);
            }
        }
    }

    /// One round; gives the object.
    pub(super) fn run(
        &mut self,
        mut object: Value,
        again: bool,
        log: &mut Log,
    ) -> Result<Value, Box<Denial>> {
        // What others have changed since the last round counts for all.
        if again && self.last.as_ref().is_some_and(|last| !last.json_eq(&object)) {
            self.mark();
        }
        let server = self.server;
        let hooks = server.webhooks.iter().filter(|w| w.mutating);
        for (i, webhook) in hooks.enumerate() {
            let review = self.review.with_object(object.clone());
            let accepted = match decide(webhook, &review, server.cluster, &self.cx) {
                WebhookDecision::Deny(denial) => return Err(denial),
                WebhookDecision::Call(accepted) if !again || self.marked.contains(&i) => accepted,
                WebhookDecision::Call(_) => {
                    log.step(webhook, 1, Event::Skipped(Why::NotAgain));
                    continue;
                }
                WebhookDecision::Skip(why) => {
                    log.step(webhook, usize::from(again), Event::Skipped(why));
                    continue;
                }
            };
            let place = format!("round_{}_index_{i}", u8::from(again));
            let result = self.call(webhook, &accepted, &review, (&place, usize::from(again)), log);
            let mutated = matches!(result, Ok(Some((_, true))));
            log.annotate(&format!("{MUTATION}{place}"), mutation(webhook, mutated));
            if mutated {
                self.changed = true;
                self.mark();
            }
            if webhook.again {
                self.ran.push(i);
            }
            match result {
                Ok(Some((changed, _))) => object = changed,
                Ok(None) => {}
                Err(failure) => match failure.denial(webhook) {
                    Some(denial) => return Err(denial),
                    None => log.annotate(&format!("{FAILED_OPEN}{place}"), Value::Str(webhook.name.clone())),
                },
            }
        }
        self.last = Some(object.clone());
        Ok(object)
    }

    /// Calls a webhook; gives the object with its patch, and whether that changed it.
    fn call(
        &mut self,
        webhook: &Webhook,
        accepted: &Accepted,
        review: &Review,
        (place, round): (&str, usize),
        log: &mut Log,
    ) -> Result<Option<(Value, bool)>, Failure> {
        let response = answer::call(self.server, webhook, accepted, review, round, log)?;
        let Response::Allowed { patch: Some((patch, patch_type)) } = response else { return Ok(None) };
        let operations = answer::operations(&patch)
            .map_err(|why| Failure::Call(format!("received undecodable patch in webhook response: {why}")))?;
        if operations.is_empty() {
            return Ok(None);
        }
        if review.object().is_null() {
            return Err(Failure::internal(&format!(
                "admission webhook {} attempted to modify the object, which is not supported for this operation",
                ephor_value::quote::quote(&webhook.name)
            )));
        }
        if &*patch_type != "JSONPatch" {
            let name = ephor_value::quote::quote(&patch_type);
            return Err(Failure::Call(format!("unsupported patch type {name}")));
        }
        let before = converted(review.object(), &accepted.kind);
        let patched =
            apply_in_order(&before, &operations).map_err(|why| Failure::internal(&why.to_string()))?;
        let after = self.decoded(&patched, &accepted.kind)?;
        let mutated = std::mem::take(&mut self.fresh) || !after.json_eq(&before);
        log.annotate(&format!("{PATCH}{place}"), render_patch(webhook, &operations));
        Ok(Some((converted(&self.defaulted(&after, &accepted.kind), &review.attributes.kind), mutated)))
    }

    /// A patched object as the server reads it.
    fn decoded(&self, object: &Value, kind: &[Str; 3]) -> Result<Value, Failure> {
        let types = self.server.cluster.types();
        let kind = &changed_kind(object, kind, types).map_err(|e| Failure::internal(&e.to_string()))?;
        let Some(def) = types.of_kind(kind).filter(|def| !def.custom) else { return Ok(object.clone()) };
        match problems(object, def, types).wrong {
            Some(error) => Err(Failure::internal(&error.to_string())),
            None => Ok(with_kind(&pruned(object, def, types), kind)),
        }
    }

    fn defaulted(&self, object: &Value, kind: &[Str; 3]) -> Value {
        let types = self.server.cluster.types();
        match types.of_kind(kind) {
            Some(def) => completed(object, def, types),
            None => object.clone(),
        }
    }
}

fn head(webhook: &Webhook) -> String {
    let mut out = String::from("{\"configuration\":");
    write_json_string(&mut out, &webhook.configuration);
    out.push_str(",\"webhook\":");
    write_json_string(&mut out, &webhook.name);
    out
}

/// A call as the audit log shows it.
fn mutation(webhook: &Webhook, mutated: bool) -> String {
    format!("{},\"mutated\":{mutated}}}", head(webhook))
}

/// A patch as the audit log shows it: operations with sorted members, values as they came.
fn render_patch(webhook: &Webhook, operations: &[Value]) -> String {
    let mut all = Vec::with_capacity(operations.len());
    for operation in operations {
        let mut members = Vec::new();
        for (key, value) in operation.as_map().into_iter().flat_map(|m| m.sorted()) {
            let mut member = String::new();
            write_json_string(&mut member, key);
            member.push(':');
            member.push_str(&as_written(value));
            members.push(member);
        }
        all.push(format!("{{{}}}", members.join(",")));
    }
    format!("{},\"patch\":[{}],\"patchType\":\"JSONPatch\"}}", head(webhook), all.join(","))
}

/// A value as it was written, its members in their order.
fn as_written(tree: &Value) -> String {
    let list = |parts: Vec<String>| parts.join(",");
    match tree {
        Value::Str(s) => escaped(s),
        Value::List(items) => format!("[{}]", list(items.iter().map(as_written).collect())),
        Value::Map(m) => {
            let entry = |(k, v): (&Str, &Value)| {
                let mut entry = String::new();
                write_json_string(&mut entry, k);
                entry + ":" + &as_written(v)
            };
            format!("{{{}}}", list(m.iter().map(entry).collect()))
        }
        other => ephor_value::print::json(other),
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}
