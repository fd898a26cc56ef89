//! What policies read.

use ephor_ir::cel_exception::CelException;
use ephor_ir::check::{Check, ForEach};
use ephor_ir::expressions::{Expressions, Source, Validation, Variable, View};
use ephor_ir::late::Late;
use ephor_ir::rule::{Body, Message};
use ephor_ir::{Exception, Policy, Rule};
use ephor_value::Str;

use crate::reads::abstract_value::{AbstractValue, Part, ValueSet};
use crate::reads::comparisons::Comparisons;
use crate::reads::expected_type::{ExpectedType, itself};
use crate::reads::expr::AbstractEnv;
use crate::reads::footprint::{Done, ReadTree, Reads, Step, Untracked};
use crate::reads::reader::Reader;

/// What the results of a policy's rules that give verdicts on objects of a kind can depend on.
///
/// # Errors
/// They can have a dependency that static analysis cannot see.
pub fn of_policy(
    policy: &Policy,
    kind: &str,
    exceptions: &[Exception],
    cel_exceptions: &[CelException],
    late: &'static dyn Late,
) -> Result<Reads, Untracked> {
    Ok(read(policy, kind, exceptions, cel_exceptions, &Reader::new(late))?.reads)
}

/// The same for requests that delete objects, or for those that do not, with what the values are
/// compared with. The name and namespace of a request count as those of its object.
///
/// # Errors
/// As there.
pub fn tested_by_policy(
    policy: &Policy,
    kind: &str,
    exceptions: &[Exception],
    cel_exceptions: &[CelException],
    late: &'static dyn Late,
    is_deletion: bool,
) -> Result<(Reads, Comparisons), Untracked> {
    let start =
        Reader { tests: Some(Comparisons::default()), is_deletion: Some(is_deletion), ..Reader::new(late) };
    let found = read(policy, kind, exceptions, cel_exceptions, &start)?;
    let mut tests = found.tests.unwrap_or_default();
    // What is looked up may be anything.
    tests.is_partial |= found.reads.external;
    Ok((found.reads, tests))
}

fn read(
    policy: &Policy,
    kind: &str,
    exceptions: &[Exception],
    cel_exceptions: &[CelException],
    start: &Reader,
) -> Result<Reader, Untracked> {
    let fresh =
        || Reader { tests: start.tests.clone(), is_deletion: start.is_deletion, ..Reader::new(start.late) };
    let mut reader = fresh();
    if policy.namespace.is_some() {
        let namespace = [Step::Key("metadata".into()), Step::Key("namespace".into())];
        reader.reads.object.add(&namespace, true);
        reader.reads.old.add(&namespace, true);
    }
    reader.sources(&policy.admit, &[])?;
    let key = policy.key();
    for rule in policy.rules_for(kind) {
        let mut own = fresh();
        for exception in exceptions.iter().filter(|e| e.covers(&key, &rule.name)) {
            own.matcher(&exception.when, kind);
        }
        let exceptions = exceptions.iter().filter(|e| e.covers(&key, &rule.name));
        own.rule(rule, kind, exceptions)?;
        for exception in cel_exceptions.iter().filter(|e| e.names(policy)) {
            own.sources(&exception.admit, &[])?;
        }
        if rule.expressions.as_ref().is_some_and(|e| e.view == View::PodTemplates) {
            own.reads = of_templates(&own.reads);
            // Places are those of the pod.
            own.tests.iter_mut().for_each(|tests| (tests.is_partial, tests.is_moved) = (true, true));
        }
        if rule.action.allow_existing {
            // The former object may be evaluated in the same way.
            let mut former = own.reads.object.clone();
            former.merge(&own.reads.shown);
            own.reads.old.merge(&former);
            for key in ["apiVersion", "kind"] {
                own.reads.old.add(&[Step::Key(key.into())], true);
            }
            let names = ["name", "generateName"].into_iter().filter(|_| own.reads.name);
            for key in names.chain(["namespace"]) {
                own.reads.old.add(&[Step::Key("metadata".into()), Step::Key(key.into())], true);
            }
        }
        reader.reads.merge(&own.reads);
        if let (Some(all), Some(own)) = (&mut reader.tests, &own.tests) {
            all.merge(own);
        }
    }
    Ok(reader)
}

/// Whether the verdicts of expressions can depend on the namespace of the object. What is unknown
/// counts as read.
pub fn reads_namespace(
    expressions: &Expressions,
    validations: &[Validation],
    late: &'static dyn Late,
) -> bool {
    let mut reader = Reader::new(late);
    let all = reader
        .sources(&expressions.conditions, &expressions.variables)
        .and_then(|()| reader.validations(validations, &expressions.variables));
    all.is_err() || reader.reads.namespace != ReadTree::default()
}

/// What is read of an object whose pod templates are seen as pods with its name.
fn of_templates(reads: &Reads) -> Reads {
    let mut all = reads.clone();
    // Which templates there are is read in any case.
    for tree in [&mut all.object, &mut all.old] {
        for key in ["apiVersion", "kind", "spec"] {
            tree.add(&[Step::Key(key.into())], true);
        }
        for key in ["namespace", "name"] {
            tree.add(&[Step::Key("metadata".into()), Step::Key(key.into())], true);
        }
    }
    all.name = true;
    all
}

impl Reader {
    fn rule<'e>(&mut self, rule: &Rule, kind: &str, exceptions: impl Iterator<Item = &'e Exception>) -> Done {
        self.matcher(&rule.when, kind);
        self.matcher(&rule.unless, kind);
        if let Some(bound) = &rule.bound {
            // Parameters are looked up.
            self.reads.external |= bound.param_kind.is_some();
            bound
                .bindings
                .iter()
                .filter_map(|b| b.when.as_ref())
                .for_each(|when| self.constraints(when, kind));
        }
        if rule.broken.is_some() {
            return Ok(());
        }
        self.bindings(rule.bindings.iter().map(AsRef::as_ref));
        self.of_rule = self.bound.len();
        if let Some(admit) = &rule.admit {
            self.conditions(admit)?;
        }
        if let Some(properties) = &rule.properties {
            self.filled(&properties.template)?;
        }
        for exception in exceptions {
            if let Some(admit) = &exception.admit {
                self.conditions(admit)?;
            }
        }
        if let Some(expressions) = &rule.expressions {
            self.expressions(expressions)?;
        }
        match &rule.body {
            Body::Validate { check: Check::Assert(validations), .. } => {
                let variables = rule.expressions.as_ref().map_or(&[][..], |e| &e.variables);
                self.validations(validations, variables)
            }
            Body::Validate { check: Check::PodSecurity(check), .. } => {
                match self.tests.is_some() {
                    true => self.pod_security(check, kind),
                    // Whether an object decodes depends on all of it.
                    false => self.reads.object = ReadTree::all(),
                }
                Ok(())
            }
            Body::Validate { check, message } => {
                let shown = vec![AbstractValue::At(Part::Shown, Vec::new())];
                self.check(check, message, &shown, 0)
            }
            // These have phases of their own.
            Body::Mutate(_) | Body::Generate(_) | Body::Delete => Ok(()),
            Body::Answer(_) | Body::ValidateImages(_) | Body::VerifyImages(_) | Body::Manifests(_) => {
                Err(Untracked)
            }
        }
    }

    fn check(&mut self, check: &Check, message: &Message, subject: &ValueSet, depth: usize) -> Done {
        match check {
            Check::Deny(conditions) => self.conditions(conditions)?,
            Check::Pattern(overlay, _) => self.overlay(overlay, subject)?,
            Check::AnyPattern(overlays, _) => self.overlays(overlays, subject)?,
            Check::ForEach(loops) => {
                return loops.iter().try_for_each(|l| self.each(l, message, subject, depth));
            }
            // Only rules have these, and their messages are their own.
            Check::Assert(_) | Check::PodSecurity(_) => return Err(Untracked),
            Check::Nothing => return Ok(()),
        }
        match self.bound.len() == message.names.len() {
            // Nothing is compared with it.
            true if message.template.as_const().is_some() => Ok(()),
            true => self.filled(&message.template),
            false => self.filled(&self.late.text(&message.text, &self.bound.clone())),
        }
    }

    fn each(&mut self, l: &ForEach, message: &Message, subject: &ValueSet, depth: usize) -> Done {
        // Bindings are loaded when something mentions them, be it in an inner loop with an element
        // of its own.
        let shadowed = l.bindings.iter().any(|b| self.bound.contains(&b.name));
        if shadowed || (depth > 0 && self.bound.len() > self.of_rule) {
            return Err(Untracked);
        }
        let list = self.query(&l.list)?;
        self.read_shape(&list)?;
        self.look_for(&list, ExpectedType::LIST);
        let mut item = self.items(&list)?;
        // What is no list is a list of one.
        item.extend(list.iter().filter_map(|one| match one {
            AbstractValue::At(part, steps) => Some(AbstractValue::At(*part, itself(steps))),
            AbstractValue::Map(_) => Some(one.clone()),
            _ => None,
        }));
        self.read_shape(&item)?;
        let (names, bound) = (self.names.len(), self.bound.len());
        for name in ["element".into(), format!("element{depth}")] {
            self.names.push((Str::from(name), item.clone()));
        }
        for name in ["elementIndex".into(), format!("elementIndex{depth}")] {
            self.names.push((Str::from(name), self.computed()));
        }
        self.bindings(l.bindings.iter().map(AsRef::as_ref));
        if let Some(admit) = &l.admit {
            self.conditions(admit)?;
        }
        let mut values = ValueSet::new();
        if l.element_scope != Some(false) {
            values.extend(item.iter().cloned());
        }
        if l.element_scope != Some(true) {
            values.extend(subject.iter().cloned());
        }
        self.check(&l.check, message, &values, depth + 1)?;
        self.names.truncate(names);
        self.bound.truncate(bound);
        Ok(())
    }

    fn sources(&mut self, sources: &[Source], variables: &[Variable]) -> Done {
        let env = AbstractEnv::request(variables);
        sources.iter().try_for_each(|source| self.verdict(&source.program, &env))
    }

    fn validations(&mut self, validations: &[Validation], variables: &[Variable]) -> Done {
        let env = AbstractEnv::request(variables);
        for validation in validations {
            self.verdict(&validation.check.program, &env)?;
            if let Some(program) = &validation.message_program {
                self.read_result(program, &env)?;
            }
        }
        Ok(())
    }

    /// What conditions and audit annotations read.
    fn expressions(&mut self, e: &Expressions) -> Done {
        if !matches!(e.view, View::Rule | View::Request | View::PodTemplates | View::AdmissionRequest) {
            return Err(Untracked);
        }
        self.sources(&e.conditions, &e.variables)?;
        let env = AbstractEnv::request(&e.variables);
        e.annotations.iter().try_for_each(|a| self.read_result(&a.value.program, &env))
    }
}

/// What the value of an expression depends on, of the data that it is run on.
///
/// # Errors
/// It depends on more.
pub fn of_expression(
    expr: &ephor_ir::Expr,
    late: &'static dyn ephor_ir::late::Late,
) -> Result<ReadTree, Untracked> {
    let mut reader = crate::reads::reader::Reader::new(late);
    let root = vec![crate::reads::abstract_value::AbstractValue::At(
        crate::reads::abstract_value::Part::Object,
        Vec::new(),
    )];
    let value = reader.expr(
        expr,
        &crate::reads::expr::AbstractEnv { root, ..crate::reads::expr::AbstractEnv::default() },
    )?;
    reader.consume(&value)?;
    Ok(reader.reads.object)
}
