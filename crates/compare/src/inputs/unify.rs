//! Answers of lookups that both sides share, whatever language they are read in.
//!
//! In: two sides. Out: the same sides with each request for objects of a cluster or for an image
//! (`inputs::lookup`) replaced by a field of the object that has the answer, or of the item that
//! the request names a field of. Fields of equal requests are the same on both sides. An answer
//! that is not there is a request that fails; one that is null is an object that does not exist.
//! What else comes of lookups stays as it is.
//!
//! An answer is right for requests that name something: where a name is empty the languages request
//! different things, so each has an answer of its own, or fails as its function does.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use ephor_functions::registry::{Language, find};
use ephor_ir::check::{Check, ForEach};
use ephor_ir::expr::{Cmp, Comprehension, Faults, Missing};
use ephor_ir::expressions::{Expressions, Source, Validation, Variable};
use ephor_ir::item_keys::ItemKeys;
use ephor_ir::rule::{Binding, BindingSource, Body, QuerySource, hole};
use ephor_ir::template::{Needs, Query};
use ephor_ir::walk::{map_children, shift};
use ephor_ir::{Condition, Conditions, Expr, Rule, Template};
use ephor_kubernetes::Kinds;
use ephor_lower::LATE;
use ephor_value::variables::find_all_variables;
use ephor_value::{Str, Value};

use crate::inputs::context_entries::INPUTS;
use crate::inputs::derived::{
    NOT_IN_FUTURE, Objects, Scope, in_condition, in_expression, in_query_of_image, in_query_of_list, is_age,
    unless_missing,
};
use crate::inputs::json_lists::{LISTS, reads_lists, with_members};
use crate::inputs::lookup::{
    Lookup, Request, Word, constant_member, keys, member, of_binding, of_call, plain, sees_deletions, word_of,
};
use crate::inputs::namespace_key::{KEY, with_key};
use crate::lists::projections::{ProjectionScope, are_parts};
use crate::model::limits::MAX_HOLES;
use crate::predicates::summary::Predicates;
use crate::sides::environments::environments;
use crate::sides::side::Side;

/// What is assumed of requests whose name is a part of other requests.
const NAMED: &str = "objects with names of their own, not with `generateName`";

/// Both sides with the answers that they share, and what is assumed of these; `None`:
/// there are none.
pub(crate) fn with_answers(sides: [&Side; 2]) -> Option<([Side; 2], BTreeSet<String>)> {
    let (environments, _) = environments(sides);
    let objects = Objects::of(&environments);
    let mut rules = sides.into_iter().flat_map(Side::policies).flat_map(|policy| policy.all_rules());
    let has_lists = rules.any(|rule| reads_lists(&with_key(rule)));
    let mut policies = sides.into_iter().flat_map(Side::policies);
    // Nothing else reads an entry with this key.
    let writes_key = policies.any(|policy| Predicates::of(policy).constants.contains(KEY));
    let with_key = |rule: &Arc<Rule>| if writes_key { Arc::clone(rule) } else { with_key(rule) };
    let has_members = Cell::new(false);
    let found = sides.map(|side| {
        let found = std::cell::RefCell::new(BTreeSet::new());
        let side = side.with_rules(&|rule| {
            let rule = with_key(rule);
            let (rule, is_changed) =
                if has_lists { with_members(&rule, &environments) } else { (rule, false) };
            has_members.set(has_members.get() || is_changed);
            let (rule, own) = of_rule(&rule, &objects);
            found.borrow_mut().extend(own);
            rule
        });
        (side, found.into_inner())
    });
    let [(old, own), (new, other)] = found;
    let is_any = !own.is_empty() && !other.is_empty();
    // Objects without a namespace are in none that a request could name.
    let by_namespace = own.iter().chain(&other).any(|text| text.contains(&Word::Namespace.text()));
    let is_namespaced = || environments.iter().all(|environment| environment.resource.namespaced);
    let is_taken = |text: &&String| text.as_str() == NOT_IN_FUTURE;
    let mut assumptions: BTreeSet<String> = own.iter().chain(&other).filter(is_taken).cloned().collect();
    let by_name = own.iter().chain(&other).any(|text| text.contains(&Word::Name.text()));
    assumptions.extend(has_members.get().then(|| LISTS.into()));
    if by_name && environments.iter().any(|environment| environment.operation == "CREATE") {
        assumptions.insert(NAMED.into());
    }
    (is_any && (!by_namespace || is_namespaced())).then_some(([old, new], assumptions))
}

/// A rule with answers, and the words of the requests that they answer.
fn of_rule(rule: &Arc<Rule>, objects: &Objects) -> (Arc<Rule>, BTreeSet<String>) {
    let mut writer = Unifier {
        found: BTreeSet::new(),
        deletes: sees_deletions(rule),
        objects,
        items: Vec::new(),
        images: Vec::new(),
    };
    let bindings = rule.bindings.iter().map(|binding| writer.binding(binding, false)).collect();
    writer.images = images(&rule.bindings, false);
    let variables = rule.expressions.as_deref().map(|shared| &*shared.variables).unwrap_or_default();
    let expressions = rule.expressions.as_ref().map(|shared| Arc::new(writer.expressions(shared)));
    let body = match &rule.body {
        Body::Validate { check, message } => {
            Body::Validate { check: writer.check(check, variables), message: message.clone() }
        }
        other => other.clone(),
    };
    match writer.found.is_empty() {
        true => (Arc::clone(rule), writer.found),
        false => (Arc::new(Rule { bindings, expressions, body, ..(**rule).clone() }), writer.found),
    }
}

/// The entries that are what registries say of images.
fn images(bindings: &[Arc<Binding>], in_loop: bool) -> Vec<Str> {
    let is_image = |binding: &&Arc<Binding>| {
        matches!(&binding.source, BindingSource::Image { query: None, .. })
            && of_binding(binding, in_loop).is_some()
    };
    let is_only =
        |binding: &&Arc<Binding>| bindings.iter().filter(|other| other.name == binding.name).count() == 1;
    bindings.iter().filter(is_image).filter(is_only).map(|binding| binding.name.clone()).collect()
}

struct Unifier<'o> {
    found: BTreeSet<String>,
    /// Whether expressions may see deletions.
    deletes: bool,
    /// The objects of requests.
    objects: &'o Objects,
    /// Of which kind the values of binders of CEL are that are items of lists of lookups, the
    /// innermost last.
    items: Vec<Option<[Str; 3]>>,
    /// The entries that are what registries say of images.
    images: Vec<Str>,
}

impl Unifier<'_> {
    fn binding(&mut self, binding: &Arc<Binding>, in_loop: bool) -> Arc<Binding> {
        let found = of_binding(binding, in_loop).and_then(|request| self.given(binding, &request));
        found
            .map_or_else(|| Arc::clone(binding), |source| Arc::new(Binding { source, ..(**binding).clone() }))
    }

    fn given(&mut self, binding: &Binding, request: &Request) -> Option<BindingSource> {
        let default = match &binding.source {
            BindingSource::ApiCall { raw, .. } => constant_member(raw, "default"),
            _ => None,
        };
        // Fields of the object without which the entry has an error.
        let mut needed = Vec::new();
        let (query, shown) = match &binding.source {
            BindingSource::ApiCall { call, .. } => {
                match member(call, "jmesPath").filter(|path| !is_empty(path)) {
                    None => (None, None),
                    Some(path) => {
                        let (query, shown) = of_path(&path)?;
                        match self.without_holes(request, &path, shown.as_ref()).filter(|_| default.is_none())
                        {
                            Some((query, fields)) => {
                                needed = fields;
                                (Some(QuerySource::Ready(query)), None)
                            }
                            None => (query, shown),
                        }
                    }
                }
            }
            BindingSource::Image { query, .. } => match query {
                Some(QuerySource::Dynamic { .. }) => return None,
                Some(QuerySource::Ready(query)) => {
                    let expr = query.expr.clone().map(in_query_of_image);
                    (Some(QuerySource::Ready(Query { expr, ..query.clone() })), None)
                }
                None => (None, None),
            },
            _ => (None, None),
        };
        let of = |object: &str| {
            let answer = in_entry(request, object)?;
            let answer = needed
                .iter()
                .fold(answer, |answer, field| unless_missing(answer, &["request", object], field));
            let needs = Needs::default();
            Some(Query { sorts: false, text: binding.name.clone(), expr: Ok(answer), needs, on_delete: None })
        };
        let on_delete = of("oldObject").map(Box::new);
        let answer = Query { on_delete, ..of("object")? };
        self.found.insert(request.text());
        Some(BindingSource::Given { answer, query, shown, default })
    }

    /// A query about a list of objects in which nothing is left of the fields of the object that it
    /// names: they are a part of what is computed. With the fields without which it fails.
    fn without_holes(
        &self,
        request: &Request,
        path: &Template,
        shown: Option<&Query>,
    ) -> Option<(Query, Vec<Vec<Str>>)> {
        let query = shown.filter(|_| request.lookup == Lookup::List)?;
        let kind = kind_of(request)?;
        let (expr, needed) =
            in_query_of_list(query.expr.as_ref().ok()?, &kind, &fields_in(path)?, self.objects)?;
        Some((Query { expr: Ok(expr), ..query.clone() }, needed))
    }

    fn conditions(&self, conditions: &Conditions) -> Conditions {
        let each = |all: &[Condition]| {
            let of = |one: &Condition| in_condition(one, &self.images).unwrap_or_else(|| one.clone());
            all.iter().map(of).collect::<Box<[_]>>()
        };
        let any = conditions.any.as_deref().map(each);
        Conditions { any, all: each(&conditions.all), ..conditions.clone() }
    }

    fn check(&mut self, check: &Check, variables: &[Variable]) -> Check {
        match check {
            Check::Deny(conditions) if !self.images.is_empty() => Check::Deny(self.conditions(conditions)),
            Check::ForEach(loops) => Check::ForEach(loops.iter().map(|l| self.for_each(l, false)).collect()),
            Check::Assert(validations) => {
                let of = |one: &Validation| {
                    let message_program = one
                        .message_program
                        .clone()
                        .map(|program| program.map(|e| self.cel(e, &mut Vec::new(), variables)));
                    let check = self.source(&one.check, variables);
                    Validation { check, message_program, ..one.clone() }
                };
                Check::Assert(validations.iter().map(of).collect())
            }
            other => other.clone(),
        }
    }

    /// A loop; `inner`: of another one, whose element it may have for its own.
    fn for_each(&mut self, l: &ForEach, inner: bool) -> ForEach {
        let queries = [Some(&l.list), l.list.on_delete.as_deref()];
        let around = ProjectionScope { variables: &[], element: false };
        let are_parts = !inner
            && queries.into_iter().flatten().all(|query| {
                query.needs.is_empty()
                    && query.expr.as_ref().is_ok_and(|list| are_parts(list, &mut Vec::new(), around, 0))
            });
        let bindings = match are_parts {
            true => l.bindings.iter().map(|binding| self.binding(binding, true)).collect(),
            false => l.bindings.clone(),
        };
        let outside = self.images.clone();
        // An entry takes the name of one around the loop.
        self.images.retain(|name| !l.bindings.iter().any(|own| own.name == *name));
        if are_parts {
            self.images.extend(images(&l.bindings, true));
        }
        let check = match &l.check {
            Check::ForEach(loops) => Check::ForEach(loops.iter().map(|l| self.for_each(l, true)).collect()),
            Check::Deny(conditions) if !self.images.is_empty() => Check::Deny(self.conditions(conditions)),
            other => other.clone(),
        };
        self.images = outside;
        ForEach { bindings, check, ..l.clone() }
    }

    fn expressions(&mut self, shared: &Expressions) -> Expressions {
        let variables: Vec<Variable> = shared
            .variables
            .iter()
            .enumerate()
            .map(|(at, variable)| {
                let earlier = shared.variables.get(..at).unwrap_or_default();
                let program = variable.program.clone().map(|e| self.cel(e, &mut Vec::new(), earlier));
                Variable { program, sharing: Default::default(), ..variable.clone() }
            })
            .collect();
        let conditions = shared.conditions.iter().map(|one| self.source(one, &shared.variables)).collect();
        Expressions { variables: variables.into(), conditions, ..shared.clone() }
    }

    fn source(&mut self, source: &Source, variables: &[Variable]) -> Source {
        let program = source.program.clone().map(|e| self.cel(e, &mut Vec::new(), variables));
        Source { program, sharing: Default::default(), ..source.clone() }
    }

    /// An expression of CEL with answers; `locals`: whether values of binders are parts of the
    /// object.
    fn cel(&mut self, expr: Expr, locals: &mut Vec<bool>, variables: &[Variable]) -> Expr {
        let program = |n: u32| variables.get(n as usize).and_then(|variable| variable.program.as_ref().ok());
        if let Some(request) = of_call(&expr, &program)
            && let Some(answer) = self.in_expression(&request, locals)
        {
            self.found.insert(request.text());
            return answer;
        }
        let is_image = |e: &Expr| {
            let found = match e {
                Expr::Variable(n) => program(*n).map(plain),
                e => Some(e),
            };
            found.and_then(|e| of_call(e, &program)).is_some_and(|found| found.lookup == Lookup::Image)
        };
        let scope = Scope { objects: self.objects, items: &self.items, is_image: &is_image };
        if !self.deletes
            && let Some(computed) = in_expression(&expr, &scope)
        {
            self.found.extend(is_age(&computed).then(|| NOT_IN_FUTURE.into()));
            return self.cel(computed, locals, variables);
        }
        let kind = match &expr {
            Expr::Comprehension(l) if !l.two => listed(&l.range, &program),
            _ => None,
        };
        let around = ProjectionScope { variables, element: false };
        let is_part = match &expr {
            Expr::Comprehension(l) => !l.two && are_parts(&l.range, locals, around, 0),
            Expr::Let { value, .. } => are_parts(value, locals, around, 0),
            Expr::Bind(parts) => are_parts(&parts[0], locals, around, 0),
            _ => false,
        };
        let below = map_children(expr, &mut |e, child| {
            let outside = locals.len();
            locals.extend((0..child.binders).map(|_| is_part));
            self.items.extend((0..child.binders).map(|_| kind.clone()));
            let e = self.cel(e, locals, variables);
            locals.truncate(outside);
            self.items.truncate(outside);
            e
        });
        match below {
            // What it reads of its items is found again.
            Expr::Comprehension(l) => {
                Expr::Comprehension(Box::new(Comprehension { item_keys: ItemKeys::default(), ..*l }))
            }
            other => other,
        }
    }

    /// The answer to a request of an expression.
    fn in_expression(&self, request: &Request, locals: &[bool]) -> Option<Expr> {
        if let Some((Expr::Local(n), _)) = request.item() {
            let at = locals.len().checked_sub(1 + *n as usize)?;
            locals.get(at).copied().filter(|is_part| *is_part)?;
        }
        let key = Str::from(request.text());
        let of = |object: &str| field_of(request, &[object], &key, Missing::Fault);
        let answer = match self.deletes && request.item().is_none() {
            false => of("object"),
            true => {
                let operation =
                    path(Expr::Root, ["request", "operation"].map(Str::from).to_vec(), Missing::Fault);
                let is = compared(operation, Value::from("DELETE"));
                Expr::Cond(Box::new([is, of("oldObject"), of("object")]))
            }
        };
        let own = own_field(request, &["object"], &key, "expressions", Missing::Fault);
        let mut answer = answer;
        for (at, word) in request.words.iter().enumerate().rev() {
            let Some(value) = value_of(word, &["object"], Missing::Fault) else { continue };
            let when_empty = match (request.lookup, at) {
                // Objects of all namespaces.
                (Lookup::Get | Lookup::List, 0) => own.clone(),
                _ => Expr::fail("a name is required"),
            };
            answer = guarded(value, answer, when_empty, Expr::fail("no such overload"))?;
        }
        Some(answer)
    }
}

/// The kind of the objects of a list.
fn kind_of(request: &Request) -> Option<[Str; 3]> {
    let [group, version, resource] = &request.resource;
    let known = Kinds::built_in().resource(group, version, resource)?;
    Some([group.clone(), version.clone(), known.kind.clone()])
}

/// The kind of the items of a list of lookups.
fn listed<'v>(list: &'v Expr, program: &dyn Fn(u32) -> Option<&'v Expr>) -> Option<[Str; 3]> {
    let (base, keys) = keys(list);
    if keys.len() != 1 || keys.first().is_none_or(|key| **key != *"items") {
        return None;
    }
    let base = match base {
        Expr::Variable(n) => plain(program(*n)?),
        base => base,
    };
    of_call(base, program).filter(|found| found.lookup == Lookup::List).as_ref().and_then(kind_of)
}

/// The answer to a request of a context entry.
fn in_entry(request: &Request, object: &str) -> Option<Expr> {
    let key = Str::from(request.text());
    let base = ["request", object];
    let shown = |answer: Expr| match request.lookup {
        // An entry shows these parts of a ConfigMap.
        Lookup::ConfigMap => parts(answer, &[("data", "data"), ("metadata", "metadata")]),
        Lookup::Image => parts(answer, &IMAGE),
        Lookup::Get | Lookup::List => answer,
    };
    let mut answer = shown(field_of(request, &base, &key, Missing::Null));
    let own = shown(own_field(request, &base, &key, "entries", Missing::Null));
    for word in request.words.iter().rev() {
        let Some(value) = value_of(word, &base, Missing::Null) else { continue };
        // No image is named by nothing, or by what is no text.
        let otherwise = match request.lookup {
            Lookup::Image => Expr::fail("no image is named"),
            _ => own.clone(),
        };
        answer = guarded(value, answer, otherwise.clone(), otherwise)?;
    }
    Some(answer)
}

/// What context entries show of an image, with where it is in the answer, which is as expressions
/// see it. What these see in another way is apart.
const IMAGE: [(&str, &str); 8] = [
    ("image", "image"),
    ("registry", "registry"),
    ("repository", "repository"),
    ("manifest", "manifest"),
    ("configData", "config"),
    ("resolvedImage", "resolvedImage of entries"),
    ("identifier", "identifier of entries"),
    ("manifestList", "manifestList of entries"),
];

/// An object with parts of an answer, where there is one.
fn parts(answer: Expr, of: &[(&str, &str)]) -> Expr {
    let part = |(key, own): &(&str, &str)| {
        let found = path(Expr::Local(0), vec![Str::from(*own)], Missing::Null);
        (Str::from(*key), Expr::rescue(found, Faults::AllAsNull))
    };
    let object = Expr::Object(of.iter().map(part).collect());
    let body = Expr::UnlessNull(Box::new([Expr::Local(0), object]));
    Expr::Let { value: Box::new(answer), body: Box::new(body) }
}

fn path(base: Expr, keys: Vec<Str>, scalar: Missing) -> Expr {
    match keys.is_empty() {
        true => base,
        false => Expr::Path { base: Box::new(base), keys: keys.into(), scalar },
    }
}

/// The field that has the answer.
fn field_of(request: &Request, object: &[&str], key: &Str, scalar: Missing) -> Expr {
    let own = [Str::from(INPUTS), key.clone()];
    match request.item() {
        Some((Expr::Path { base, keys, .. }, way)) => {
            path((**base).clone(), keys.iter().chain(way).cloned().chain(own).collect(), scalar)
        }
        Some((base, way)) => path(base.clone(), way.iter().cloned().chain(own).collect(), scalar),
        None => path(Expr::Root, object.iter().map(|key| Str::from(*key)).chain(own).collect(), scalar),
    }
}

/// The field that has the answer of one language to a request that names nothing.
fn own_field(request: &Request, object: &[&str], key: &Str, language: &str, scalar: Missing) -> Expr {
    field_of(request, object, &format!("{key}|{language}").into(), scalar)
}

/// The value of the request that a word names.
fn value_of(word: &Word, object: &[&str], scalar: Missing) -> Option<Expr> {
    let keys = |keys: &[Str]| object.iter().map(|key| Str::from(*key)).chain(keys.iter().cloned()).collect();
    match word {
        Word::Text(_) | Word::Namespace | Word::Name => None,
        Word::Field(own) => Some(path(Expr::Root, keys(own), scalar)),
        Word::OfItem(base, way, last) => {
            let way = way.iter().chain([last]).cloned();
            Some(match &**base {
                Expr::Path { base, keys, .. } => {
                    path((**base).clone(), keys.iter().cloned().chain(way).collect(), scalar)
                }
                base => path(base.clone(), way.collect(), scalar),
            })
        }
    }
}

fn compared(value: Expr, with: Value) -> Expr {
    Expr::Compare { op: Cmp::Eq, sides: Box::new([value, Expr::Const(with)]) }
}

/// An expression for a value that is a text, another one for an empty text, and one for what is no
/// text.
fn guarded(value: Expr, body: Expr, when_empty: Expr, when_other: Expr) -> Option<Expr> {
    let empty = || Value::from("");
    // Of what is no text it gives an error.
    let begins = Expr::Call {
        function: find(Language::JmesPath, "starts_with")?,
        args: [Expr::Local(0), Expr::Const(empty())].into(),
    };
    let is_text = compared(Expr::rescue(begins, Faults::AllAsNull), Value::Bool(true));
    let is_empty = compared(Expr::Local(0), empty());
    let [body, when_empty, when_other] = [body, when_empty, when_other].map(|e| shift(e, 1, 0));
    let of_text = Expr::Cond(Box::new([is_empty, when_empty, body]));
    let all = Expr::Cond(Box::new([is_text, of_text, when_other]));
    Some(Expr::Let { value: Box::new(value), body: Box::new(all) })
}

fn is_empty(template: &Template) -> bool {
    matches!(template, Template::Const(value) if value.is_empty())
}

/// The text of a query that holds variables, and the names of entries that it may read.
fn with_holes(path: &Template) -> Option<(&Str, &Arc<[Str]>)> {
    match path {
        Template::Text(text) => Some((&text.rounds.source, &text.rounds.names)),
        Template::Rounds(rounds) => Some((&rounds.source, &rounds.names)),
        _ => None,
    }
}

/// The fields of the object that the variables of a query are, where they are nothing else.
fn fields_in(path: &Template) -> Option<Vec<Vec<Str>>> {
    let (source, names) = with_holes(path)?;
    let field = |text: &str| match word_of(text, names)? {
        Word::Field(keys) => Some(keys),
        _ => None,
    };
    find_all_variables(source).into_iter().map(|at| field(source.get(at)?)).collect()
}

/// A query whose text may hold variables: it, and what shows it to analyses. A variable must be all
/// of a literal.
fn of_path(path: &Template) -> Option<(Option<QuerySource>, Option<Query>)> {
    let none: Arc<[Str]> = Arc::from([]);
    if let Template::Const(Value::Str(text)) = path {
        return Some((Some(QuerySource::Ready(LATE.plain_query(text, &none))), None));
    }
    let (source, names) = with_holes(path)?;
    let found = find_all_variables(source);
    let (mut shown, mut from) = (String::new(), 0);
    (!found.is_empty() && found.len() <= MAX_HOLES).then_some(())?;
    for (at, variable) in found.into_iter().enumerate() {
        let before = source.get(from..variable.start)?;
        let after = source.get(variable.end..)?;
        let quote = before.chars().next_back().filter(|quote| matches!(quote, '`' | '\''))?;
        after.starts_with(quote).then_some(())?;
        shown.push_str(before.get(..before.len() - 1)?);
        shown.push_str(&format!("'{}'", hole(at)));
        from = variable.end + 1;
    }
    shown.push_str(source.get(from..)?);
    (!shown.contains("{{")).then_some(())?;
    let shown = LATE.plain_query(&shown, &none);
    shown.expr.is_ok().then_some(())?;
    let (text, names) = (path.clone(), Arc::clone(names));
    Some((Some(QuerySource::Dynamic { text, names }), Some(shown)))
}
