//! The procedure: environment by environment, unit by unit, in both directions.
//!
//! In: two sides. Out: a [`Comparison`]. Units that have the same text on the other side are
//! covered; environments that all rules treat alike are evaluated once.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::model::answer::{Answer, Comparison};
use crate::model::environment::Environment;
use crate::model::limits::{SAMPLING, TIME_LIMIT};
use crate::model::observer::Observer;
use crate::model::options::Options;
use crate::normal::environment_key::signature;
use crate::predicates::by_field::Tested;
use crate::search::compared::Compared;
use crate::search::findings::Findings;
use crate::search::run::{Effort, Memory, Run};
use crate::sides::environments::environments;
use crate::sides::side::Side;
use crate::units::cached::CachedUnit;
use crate::units::split::units;
use crate::units::unit::{may_matter, open, same};

/// Why sides are not the same that are evaluated in the same way: one of them, or a part of it, is
/// not evaluated when requests are admitted.
pub(crate) fn not_admitted(sides: [&Side; 2]) -> Option<String> {
    let [old, new] =
        sides.map(|side| side.policies().iter().map(|policy| policy.admission).collect::<BTreeSet<bool>>());
    let differ = !old.is_empty() && !new.is_empty() && old != new;
    differ.then(|| "some policies of one side alone are not evaluated when requests are admitted".into())
}

pub(crate) fn of_sides<'s>(
    old: &'s Side,
    new: &'s Side,
    options: Options,
    observer: Option<&'s dyn Observer>,
) -> Comparison {
    let (mut environments, partly) = environments([old, new]);
    environments.retain(|environment| options.kinds.has(&environment.resource.kind));
    let mut kinds: Vec<String> = environments.iter().map(|e| e.resource.kind.to_string()).collect();
    kinds.dedup();
    if let Some(why) = [old, new].into_iter().find_map(Side::unsupported) {
        // Rules of one text in the environments that are known say nothing of the others.
        let same = partly.is_none().then(|| is_same_text(old, new, &environments)).flatten();
        let answer = match same {
            Some(relative_to) => Answer::ProvedRelative(relative_to.into_iter().collect()),
            None => Answer::Incomparable(why),
        };
        return Comparison {
            answer,
            differences: Vec::new(),
            existing: None,
            reordered: false,
            objects: 0,
            kinds,
            reasons: Vec::new(),
            relative_to: Vec::new(),
        };
    }
    let mut one_key = old.one_key();
    one_key.merge(new.one_key());
    let compared = Compared::new([old, new], options);
    let memory = Memory {
        one_key: Rc::new(one_key),
        words: Rc::default(),
        lists: Rc::default(),
        alike: BTreeSet::new(),
    };
    let mut findings = Findings::default();
    findings.reasons.extend(partly.into_iter().chain(not_admitted([old, new])));
    let effort = Effort::of(options);
    let (by_effect, effects) = (false, Default::default());
    let mut run = Run { compared, options, observer, effort, memory, findings, by_effect, effects };
    let changes = old.changes() || new.changes();
    for environment in &environments {
        match changes {
            true => run.results(environment),
            false => run.environment(environment),
        }
    }
    if let Some(observer) = observer {
        run.memory.words.classes().iter().for_each(|classes| observer.texts(classes));
    }
    let Run { compared, findings, effort, .. } = run;
    findings.comparison(&compared, (kinds, effort.objects), options.proof_only)
}

impl Run<'_> {
    pub(crate) fn environment(&mut self, environment: &Environment) {
        if self.effort.is_late() {
            self.findings.reasons.insert(TIME_LIMIT.into());
            return;
        }
        if self.is_over() {
            return;
        }
        let mut sides = self.compared.sides.map(|side| units(side, environment));
        sides.iter_mut().for_each(|units| units.retain(|unit| may_matter(environment, unit)));
        let are_patterns = sides.iter().flatten().any(|unit| unit.predicates.are_patterns);
        sides.iter_mut().flatten().for_each(|unit| unit.tested.are_patterns = are_patterns);
        Tested::share(sides.iter_mut().flatten().map(|unit| &mut unit.tested));
        // Kinds and operations that all rules treat alike are evaluated once.
        if let Some(signature) = signature(environment, &sides)
            && !self.memory.alike.insert(signature)
        {
            return;
        }
        let sides = sides.map(|units| units.into_iter().map(CachedUnit::new).collect());
        self.effort.environments += 1;
        self.memory.lists.next_environment();
        let is_open = |unit: &&CachedUnit| open(&unit.reads, &unit.predicates).is_some();
        self.effort.share = SAMPLING.share(sides.iter().flatten().filter(is_open).count());
        self.effort.units = SAMPLING.share(sides.iter().flatten().count());
        self.effects = Default::default();
        self.units(environment, &sides);
        // Where all violations of both sides have one consequence, what is covered is covered in
        // this, too.
        let [old, new] = &self.effects;
        if self.compared.consequences.are_known
            && (old.len() > 1 || new.len() > 1 || (old != new && !old.is_empty()))
        {
            self.by_effect = true;
            self.units(environment, &sides);
            self.by_effect = false;
        }
    }

    fn units(&mut self, environment: &Environment, [old, new]: &[Vec<CachedUnit>; 2]) {
        let directions = if self.options.question.goes_both_ways { 2 } else { 1 };
        for (from, to, at) in [(old, new, 0), (new, old, 1)].into_iter().take(directions) {
            for unit in from {
                if self.is_over() {
                    return;
                }
                let is_same = |other: &CachedUnit| unit.identity.is_some() && unit.identity == other.identity;
                match self.options.same_rules && to.iter().any(is_same) {
                    true => {
                        self.findings.relative_to.extend(unit.external.iter().cloned());
                        self.observer.into_iter().for_each(Observer::skipped);
                    }
                    false => self.unit(environment, unit, to, at),
                }
            }
        }
    }
}

/// The external data of both sides, when they have the same rules in every environment.
pub(crate) fn is_same_text(old: &Side, new: &Side, environments: &[Environment]) -> Option<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for environment in environments {
        all.extend(same(&[old, new].map(|side| units(side, environment)))?);
    }
    Some(all)
}
