//! Objects that exist, of which rules generate copies.
//!
//! In: a rule that generates objects. Out: which objects it copies, where constants say which
//! (`effects::existing_objects`). A copy is taken as a whole, or put together of fields of the
//! object that nothing reads.

use std::collections::BTreeSet;

use ephor_functions::registry::Operation;
use ephor_ir::condition::{Condition, Operator};
use ephor_ir::generate::Described;
use ephor_ir::strict::Make;
use ephor_ir::{Expr, Template};
use ephor_kubernetes::Kinds;
use ephor_value::{Str, Value};

use crate::effects::writes::model::{CopyKind, Done, WriteCollector};
use crate::effects::writes::places::keys_of;
use crate::inputs::lookup::{Lookup, Word, of_call};
use crate::model::unsupported::Unsupported;
use crate::model::world::Copied;

impl<'r> WriteCollector<'r> {
    /// A description that copies objects.
    pub(crate) fn cloned(&mut self, described: &'r Described, copied: Vec<Copied>) -> Done {
        let Template::Object(pairs) = &described.template else {
            self.found.cloned.extend(copied);
            return Ok(());
        };
        for (key, value) in pairs {
            let key = key.as_const().and_then(Value::as_str).ok_or(Unsupported::Computed)?;
            if matches!(key, "clone" | "cloneList") {
                continue;
            }
            self.part(value, 0)?;
            // An object is no copy of itself.
            let own = copied.iter().map(|one| match key {
                "namespace" => Some(one.namespace.clone()),
                "name" => one.name.clone(),
                _ => None,
            });
            for text in own.flatten().collect::<BTreeSet<Str>>() {
                self.found.compared.push(Condition {
                    origin: described.origin.clone(),
                    key: value.clone(),
                    operator: Some(Operator::Equals),
                    value: Template::Const(Value::Str(text)),
                    prepared: None,
                    message: "".into(),
                });
            }
        }
        self.found.cloned.extend(copied);
        Ok(())
    }

    /// An expression that generates objects that exist, in another namespace or with another name.
    pub(crate) fn applied_copies(&mut self, expr: &'r Expr, depth: usize) -> Done {
        let expr = self.shallow(expr, depth)?;
        if let Expr::Cond(parts) = expr {
            return self.either(parts, |own, part| own.applied_copies(part, depth + 1));
        }
        if matches!(expr.constant(), Some(Value::Bool(_))) {
            return Ok(());
        }
        let Some((Operation::Apply, [receiver, rest @ ..])) = expr.invoked() else {
            return Err(Unsupported::Computed);
        };
        // Policies of a namespace generate into it.
        let (namespace, list) = match rest {
            [namespace, list] => (Some(namespace), list),
            [list] => (None, list),
            _ => return Err(Unsupported::Computed),
        };
        if keys_of(receiver).is_none_or(|(base, keys)| !matches!(base, Expr::Root) || keys.len() != 1) {
            return Err(Unsupported::Computed);
        }
        if let Some(namespace) = namespace.filter(|namespace| self.plain(namespace).constant().is_none()) {
            self.taken(namespace, CopyKind::Scalar)?;
        }
        match self.plain(list) {
            Expr::Make(make) => match &**make {
                Make::List(items, optional) if optional.is_empty() => {
                    items.iter().try_for_each(|item| self.applied_copy(item))
                }
                _ => Err(Unsupported::Computed),
            },
            _ => Err(Unsupported::Computed),
        }
    }

    fn applied_copy(&mut self, item: &'r Expr) -> Done {
        let item = self.plain(item);
        let is_list = matches!(item.invoked(), Some((Operation::ListObjects, _)));
        self.found.generated.push((!is_list).then(Default::default));
        if let Some(own) = self.looked_up_here(item) {
            self.found.cloned_here.insert(own);
            return Ok(());
        }
        if let Some(copied) = self.looked_up(item) {
            self.found.cloned.insert(copied);
            return Ok(());
        }
        let Expr::Bind(parts) = item else { return Err(Unsupported::Computed) };
        if let Some(own) = self.looked_up_here(&parts[0]).filter(|(_, name)| name.is_some()) {
            self.assembled(&parts[1], 0)?;
            self.found.cloned_here.insert(own);
            return Ok(());
        }
        let copied =
            self.looked_up(&parts[0]).filter(|copied| copied.name.is_some()).ok_or(Unsupported::Computed)?;
        self.assembled(&parts[1], 0)?;
        self.found.cloned.insert(copied);
        Ok(())
    }

    /// The same in the namespace of a policy: the kind, and the name of one.
    fn looked_up_here(&self, expr: &'r Expr) -> Option<([Str; 3], Option<Str>)> {
        let Expr::Invoke(call) = self.plain(expr) else { return None };
        let (receiver, args) = call.args.split_first()?;
        let (Expr::Root, [library]) = (&keys_of(receiver)?.0, &*keys_of(receiver)?.1) else { return None };
        let text = |expr: &'r Expr| self.plain(expr).constant().and_then(Value::as_str);
        let is_labels =
            |expr: &'r Expr| self.plain(expr).constant().is_some_and(|value| value.as_map().is_some());
        let (api_version, resource, name) = match (call.function.operation, args) {
            (Operation::LookUp, [api_version, resource, name]) => {
                (api_version, resource, Some(Str::from(text(name)?)))
            }
            (Operation::ListObjects, [api_version, resource]) => (api_version, resource, None),
            (Operation::ListObjects, [api_version, resource, labels]) if is_labels(labels) => {
                (api_version, resource, None)
            }
            _ => return None,
        };
        let (group, version) = text(api_version)?.split_once('/').unwrap_or(("", text(api_version)?));
        let kind = &Kinds::built_in().resource(group, version, text(resource)?)?.kind;
        (**library == *"resource").then(|| ([group.into(), version.into(), kind.clone()], name))
    }

    /// What an expression looks up, where constants say what.
    fn looked_up(&self, expr: &'r Expr) -> Option<Copied> {
        let program =
            |n: u32| self.variables.get(n as usize).and_then(|variable| variable.program.as_ref().ok());
        let request = of_call(self.plain(expr), &program)?;
        let text = |at: usize| match request.words.get(at) {
            Some(Word::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let [group, version, resource] = &request.resource;
        let kind = &Kinds::built_in().resource(group, version, resource)?.kind;
        let kind = [group.clone(), version.clone(), kind.clone()];
        let (namespace, labels) = (text(0)?, request.labels.clone());
        match request.lookup {
            Lookup::Get => Some(Copied { kind, namespace, name: Some(text(1)?), labels }),
            Lookup::List => Some(Copied { kind, namespace, name: None, labels }),
            _ => None,
        }
    }

    /// An object that is put together of fields of another one.
    fn assembled(&mut self, expr: &'r Expr, depth: usize) -> Done {
        let expr = self.shallow(expr, depth)?;
        if expr.constant().is_some() {
            return Ok(());
        }
        if let Expr::Make(make) = expr {
            return match &**make {
                Make::Map(entries) => entries.iter().try_for_each(|(key, value, _)| {
                    self.plain(key).constant().ok_or(Unsupported::Computed)?;
                    self.assembled(value, depth + 1)
                }),
                Make::Struct(_, fields) => {
                    fields.iter().try_for_each(|(_, value, _)| self.assembled(value, depth + 1))
                }
                Make::List(..) => Err(Unsupported::Computed),
            };
        }
        // A field of the object that is copied; that of the request has no binder around it.
        match keys_of(expr) {
            Some((Expr::Local(0), keys)) if !keys.is_empty() => Ok(()),
            _ => self.taken(expr, CopyKind::Scalar),
        }
    }
}
