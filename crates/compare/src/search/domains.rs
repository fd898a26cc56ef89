//! Domains: the values of each class at each field, and the cases that are combinations of them.
//!
//! In: a footprint and a budget. Out: a [`Domain`] with its cases, each a request that stands for
//! all others of its classes. There are three of them, each with fewer cases than the one before:
//! all, those that an API server may admit, and those whose atoms say something else.

use std::rc::Rc;
use std::sync::Arc;

use ephor_kubernetes::Types;

use crate::inputs::context_entries::has_inputs;
use crate::lists::closure::{ListClasses, ListMemory};
use crate::model::environment::Environment;
use crate::model::request::{Case, RequestContext};
use crate::objects::cases::cases;
use crate::objects::contexts::request_contexts;
use crate::objects::domain::Domain;
use crate::search::budget::Budget;
use crate::search::footprint::Footprint;
use crate::search::run::Run;
use crate::sides::wildcard_keys::AmbiguousWildcardKeys;
use crate::strings::witnesses::WitnessCache;
use crate::units::cached::CachedUnit;
use crate::units::deciding::Deciding;
use ephor_value::clock::Instant;

/// What the domains of one question are built from.
pub(crate) struct Domains<'q> {
    environment: &'q Environment,
    unit: &'q CachedUnit,
    others: &'q [&'q CachedUnit],
    footprint: &'q Footprint,
    budget: &'q Budget,
    words: Rc<WitnessCache>,
    memory: Rc<ListMemory>,
    one_key: Rc<AmbiguousWildcardKeys>,
    deadline: Option<Instant>,
    knows_no_patterns: bool,
}

/// The request contexts of each class, and why they may not be all.
pub(crate) type Contexts = (Vec<Arc<RequestContext>>, Option<String>);

impl<'q> Domains<'q> {
    /// Of a unit and others in an environment.
    pub fn new(
        run: &Run<'_>,
        environment: &'q Environment,
        (unit, others): (&'q CachedUnit, &'q [&'q CachedUnit]),
        (footprint, budget): (&'q Footprint, &'q Budget),
    ) -> Domains<'q> {
        Domains {
            environment,
            unit,
            others,
            footprint,
            budget,
            words: Rc::clone(&run.memory.words),
            memory: Rc::clone(&run.memory.lists),
            one_key: Rc::clone(&run.memory.one_key),
            deadline: run.options.deadline,
            knows_no_patterns: run.compared.sides.iter().any(|side| side.knows_no_patterns),
        }
    }

    fn units(&self) -> impl Iterator<Item = &'q CachedUnit> + Clone {
        std::iter::once(self.unit).chain(self.others.iter().copied())
    }

    /// The request contexts of each class; `deciding`: without those of which atoms say the same.
    pub fn contexts(&self, deciding: &mut Option<Deciding>) -> Contexts {
        let Footprint { reads, predicates, count, uncounted, .. } = self.footprint;
        let needed = if let Some(why) = uncounted { Err(why.as_str()) } else { Ok(count) };
        let (mut all, why) =
            request_contexts(self.environment, reads, predicates, &self.words, needed, deciding);
        if self.knows_no_patterns {
            let is_pattern = |text: &str| text.contains(['*', '?']);
            all.retain(|one| !one.user.info.any_text(&is_pattern));
        }
        (all, why)
    }

    /// The cases of all classes; `only_admitted`: of texts that an API server may admit.
    pub fn all(&self, only_admitted: bool, contexts: &[Arc<RequestContext>]) -> (Domain<'_>, Vec<Case>) {
        self.built(only_admitted, contexts, None)
    }

    /// The cases without those of which atoms say what they say of others; `None`: these are all.
    pub fn deciding(&self, only_admitted: bool) -> Option<(Domain<'_>, Vec<Case>)> {
        let mut deciding = Deciding::of(self.environment, self.units());
        deciding.as_ref()?;
        let (contexts, why) = self.contexts(&mut deciding);
        let (domain, cases) = self.built(only_admitted, &contexts, deciding);
        let has_left_out = domain.deciding.as_ref().is_some_and(|deciding| deciding.has_left_out);
        (has_left_out && why.is_none()).then_some((domain, cases))
    }

    /// Some cases with short lists.
    pub fn short(&self, items: usize, limit: usize, contexts: &[Arc<RequestContext>]) -> Vec<Case> {
        let mut domain = self.domain(items, limit);
        domain.is_sampled = self.budget.is_open;
        let Footprint { reads, predicates, .. } = self.footprint;
        cases(self.environment, reads, predicates, &mut domain, contexts)
    }

    fn domain(&self, items: usize, limit: usize) -> Domain<'_> {
        let of = (&self.footprint.predicates, &self.footprint.fields);
        let mut domain = Domain::new((Types::built_in(), &self.words), of, self.environment, items, limit);
        domain.deadline = self.deadline;
        domain
    }

    fn built(
        &self,
        only_admitted: bool,
        contexts: &[Arc<RequestContext>],
        deciding: Option<Deciding>,
    ) -> (Domain<'_>, Vec<Case>) {
        let Footprint { reads, predicates, count, uncounted, .. } = self.footprint;
        let Budget { is_open, is_shorter, items, limit, some, .. } = *self.budget;
        let mut domain = self.domain(items, limit);
        domain.some = some;
        domain.only_admitted = only_admitted;
        domain.one_key = Some(&self.one_key);
        domain.classes = ListClasses::of(self.environment, self.units(), &self.memory).filter(|_| !is_open);
        domain.uncounted = uncounted.clone().filter(|_| !is_shorter);
        domain.needed = Some(count.clone())
            .filter(|_| !is_shorter && !has_inputs(&reads.object) && !has_inputs(&reads.shown));
        domain.is_sampled = is_open;
        domain.deciding = deciding;
        let cases = cases(self.environment, reads, predicates, &mut domain, contexts);
        (domain, cases)
    }
}
