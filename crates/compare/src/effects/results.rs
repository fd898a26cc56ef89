//! Sides that change or generate objects: their results are compared.
//!
//! In: an environment. Sides with the same rules in the same order are equal. Where rules write
//! constants, the objects that stand for all are evaluated (`effects::changes`). Others are
//! evaluated as a whole on objects of the classes that they read and write; agreement on all of
//! these is no proof, for a rule may copy what nothing tests.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use ephor_analysis::reads::{ReadTree, Reads, Step};
use ephor_ir::Rule;
use ephor_ir::check::Check;
use ephor_ir::mutate::{Change, Json, Layer, Merge, Node, Patch};
use ephor_ir::rule::Body;
use ephor_kubernetes::Types;
use ephor_kubernetes::schema::{Type, Whole};
use ephor_value::{Map, Value};

use crate::effects::adjacent_items::side_by_side;
use crate::effects::changes::{checking, validation};
use crate::effects::merge_keys::{MERGED, is_regular};
use crate::lists::small_model::Count;
use crate::model::environment::Environment;
use crate::model::limits::{MAX_RESULT_ITEMS, MAX_SAMPLED_RESULTS};
use crate::model::request::Case;
use crate::objects::cases::cases;
use crate::objects::contexts::request_contexts;
use crate::objects::domain::Domain;
use crate::predicates::by_field::Tested;
use crate::predicates::summary::Predicates;
use crate::search::run::Run;
use crate::sides::side::Side;
use crate::units::split::units;
use crate::units::unit::{Unit, same};

impl Run<'_> {
    /// Compares what both sides make of the objects of an environment.
    pub(crate) fn results(&mut self, environment: &Environment) {
        let sides = self.compared.sides.map(|side| units(side, environment));
        if let Some(relative_to) = same(&sides) {
            self.findings.relative_to.extend(relative_to);
            return;
        }
        match self.changes(environment) {
            Ok(()) => return,
            Err(why) => _ = self.findings.reasons.insert(why),
        }
        // What expressions read makes many more objects; few of the others are lost among them.
        let read =
            self.compared.sides.map(|side| units(&side.with_rules(&|rule| as_check(rule)), environment));
        let known = self.findings.differences();
        self.sampled(environment, sides.iter().flatten());
        if self.findings.differences() == known
            && read.iter().flatten().any(|unit| unit.reads != Reads::default())
        {
            self.sampled(environment, sides.iter().chain(&read).flatten());
        }
    }

    /// Compares what both sides make of some objects of the classes that units read, and that rules
    /// write.
    fn sampled<'u>(&mut self, environment: &Environment, units: impl Iterator<Item = &'u Unit>) {
        let (mut reads, mut tested) = (Reads::default(), Predicates::default());
        for unit in units {
            reads.merge(&unit.reads);
            tested.merge(&unit.predicates);
        }
        // A constant that reads as a place in an object may be one.
        for text in tested.globs.iter().filter(|text| text.starts_with('/')) {
            reads.shown.add(&text.split('/').skip(1).map(step).collect::<Vec<Step>>(), false);
        }
        let mut merges = false;
        for side in self.compared.sides {
            let mut written = written(side, environment);
            merges |= written.merges;
            if side.knows_no_patterns {
                written.texts.retain(|text| !text.contains(['*', '?']));
            }
            tested.add_texts(std::mem::take(&mut written.texts));
            reads.shown.merge(&written.tree);
        }
        let words = Rc::clone(&self.memory.words);
        let fields = Tested::anywhere(&tested);
        let known: (&Types, &_) = (Types::built_in(), &*words);
        let mut domain =
            Domain::new(known, (&tested, &fields), environment, MAX_RESULT_ITEMS, self.options.objects);
        domain.deadline = self.options.deadline;
        domain.is_sampled = true;
        let (around, _) = request_contexts(
            environment,
            &reads,
            &tested,
            &words,
            Ok(&Count::of(MAX_RESULT_ITEMS)),
            &mut None,
        );
        let mut all = cases(environment, &reads, &tested, &mut domain, &around);
        let pairs = if merges { side_by_side(&all) } else { Vec::new() };
        // A proof is relative to that, too.
        let ty = Types::built_in().of_object(&environment.object);
        let ty = ty.map(|def| Type::Named(def.name.clone(), Whole::Merged)).filter(|_| merges);
        let is_own = |case: &Case| ty.as_ref().is_none_or(|ty| is_regular(&case.object, ty));
        let count = all.len();
        all.retain(is_own);
        if all.len() < count {
            self.findings.reasons.insert(MERGED.into());
        }
        // Some of them, spread over all.
        let step = all.len().div_ceil(MAX_SAMPLED_RESULTS).max(1);
        for case in pairs.into_iter().filter(is_own).chain(all.into_iter().step_by(step)) {
            if self.effort.is_over().is_some() {
                break;
            }
            self.observe(environment, &case);
            self.effort.evaluates(2);
            self.witness(environment, case);
        }
    }
}

/// A rule whose expressions give changes, as one that checks them: it reads and tests the same.
fn as_check(rule: &Arc<Rule>) -> Arc<Rule> {
    let Body::Mutate(mutation) = &rule.body else { return Arc::clone(rule) };
    let Change::Expressions { patches, .. } = &mutation.change else { return Arc::clone(rule) };
    let checks = patches.iter().map(|patch| validation(patch.source.clone()));
    checking(rule, Check::Assert(checks.collect()))
}

/// What rules write.
#[derive(Default)]
struct WrittenPlaces {
    tree: ReadTree,
    texts: BTreeSet<String>,
    merges: bool,
}

fn written(side: &Side, environment: &Environment) -> WrittenPlaces {
    let mut found = WrittenPlaces::default();
    let rules = side.policies().iter().flat_map(|policy| policy.rules_for(&environment.resource.kind));
    for rule in rules {
        if let Body::Mutate(mutation) = &rule.body {
            found.change(&mutation.change);
        }
    }
    found
}

impl WrittenPlaces {
    fn change(&mut self, change: &Change) {
        match change {
            Change::Patch(patch, _) => self.patch(patch),
            Change::ForEach(loops) => loops.iter().for_each(|l| self.change(&l.change)),
            Change::Expressions { .. } => {}
        }
    }

    fn patch(&mut self, patch: &Patch) {
        self.merges |= matches!(patch, Patch::Merge(_));
        match patch {
            Patch::Merge(Merge::Ready(layer)) => {
                let value = match &**layer {
                    Layer::Plain(value) => value.clone(),
                    Layer::Anchored(node) => plain(node),
                };
                self.value(&value, &mut Vec::new());
            }
            Patch::Json(Json::Ready(Ok(patch))) => {
                for operation in &patch.operations {
                    let steps: Vec<Step> = operation.path.split('/').skip(1).map(step).collect();
                    self.tree.add(&steps, false);
                }
            }
            _ => {}
        }
    }

    fn value(&mut self, value: &Value, path: &mut Vec<Step>) {
        match value {
            Value::Map(map) => {
                for (key, below) in map.iter() {
                    path.push(Step::Key(key.clone()));
                    self.value(below, path);
                    path.pop();
                }
            }
            Value::List(items) => {
                for item in items.iter() {
                    path.push(Step::Nested);
                    self.value(item, path);
                    path.pop();
                }
            }
            other => {
                self.texts.extend(other.as_str().map(Into::into));
                self.tree.add(path, false);
            }
        }
    }
}

fn step(text: &str) -> Step {
    match text == "-" || text.parse::<usize>().is_ok() {
        true => Step::Nested,
        false => Step::Key(text.replace("~1", "/").replace("~0", "~").into()),
    }
}

/// A layer without its anchors.
fn plain(node: &Node) -> Value {
    match node {
        Node::Scalar(value) => value.clone(),
        Node::List(items) => Value::list(items.iter().map(plain).collect()),
        Node::Map(members) => {
            let mut map = Map::new();
            for member in members {
                map.insert(member.key.clone(), plain(&member.value));
            }
            Value::Map(map)
        }
    }
}
