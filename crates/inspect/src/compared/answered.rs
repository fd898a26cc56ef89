//! Answers with all that output shows of them.
//!
//! In: sides with the policies that were read, and a comparison. Out: [`Answered`]: each difference
//! with the places that decided in the old policy, in the new one and in the object, and what was
//! accepted by `ephor-diff.yaml`.

use ephor_compare::{
    AcceptedClass, Answer, Claim, Comparison, Difference, Entry, Ignored, Judgement, Options, OtherMessages,
    PairedBy, Side, Universe, Verdict, traces,
};
use ephor_policies::load::{LoadedPolicy, Policies};
use ephor_report::run::Place;
use ephor_value::place::{dotted, parse};

use crate::places::policy_place;

/// The answer about a pair.
#[derive(Debug)]
pub struct Answered {
    /// The name of the pair.
    pub name: String,
    /// What came of it.
    pub found: PairOutcome,
}

impl Answered {
    /// The answer, where both sides have the policy.
    pub fn answer(&self) -> Option<&Answer> {
        match &self.found {
            PairOutcome::Compared(compared) => Some(&compared.answer),
            PairOutcome::Only { .. } => None,
        }
    }
}

/// What came of a pair.
#[derive(Debug)]
pub enum PairOutcome {
    /// It was compared.
    Compared(Box<Compared>),
    /// Only one side has the policy.
    Only {
        /// Whether that is the old one.
        is_old: bool,
        /// Where it is written.
        place: Option<Place>,
    },
}

/// A comparison with what output shows of it.
#[derive(Debug)]
pub struct Compared {
    /// The answer about every request, without differences that are ignored.
    pub answer: Answer,
    /// The answer of the claim, which `migrate` makes, too: of requests that `but_for` does not
    /// name.
    pub claimed: Answer,
    /// What the claim is not about.
    pub but_for: Vec<&'static str>,
    /// The differences.
    pub differences: Vec<Shown>,
    /// Which side alone allows updates of objects that are violations already.
    pub existing: Option<&'static str>,
    /// When each side deletes objects, and how, where that differs.
    pub times: Option<[String; 2]>,
    /// Whether both sides have the same rules, so that no object had to be evaluated.
    pub is_same: bool,
    /// How many objects were evaluated.
    pub objects: usize,
    /// The kinds that rules of a side select.
    pub kinds: Vec<String>,
    /// Why the two are compared.
    pub by: PairedBy,
    /// The policies of both sides.
    pub policies: [Vec<LoadedPolicy>; 2],
    /// Objects that violate both sides, which say different things; where these were compared.
    pub messages: Option<Vec<OtherMessages>>,
    /// What was accepted: class, reason, how many.
    pub ignored: Vec<(String, String, usize)>,
}

/// A difference with its places.
#[derive(Debug)]
pub struct Shown {
    /// The difference.
    pub difference: Difference,
    /// What decided on each side.
    pub decided: [DecidingPlace; 2],
    /// Whether it is about what is deleted.
    pub deletes: bool,
    /// The file with the object.
    pub file: Option<String>,
    /// The file with who sends the request, where that counts.
    pub user_file: Option<String>,
    /// The file with the operation and the labels of the namespace, where these count.
    pub values_file: Option<String>,
    /// The folder with a test for each side, where only tests show it: commands that evaluate
    /// objects load no ConfigMaps.
    pub tests: Option<String>,
}

/// What decided on a side.
#[derive(Debug, Default)]
pub struct DecidingPlace {
    /// Where it is written; where the policy is named, when no rule applies.
    pub place: Option<Place>,
    /// The field of the object that decided.
    pub field: Option<String>,
}

impl Shown {
    /// Whether the new side leaves what the old one denies, or deletes.
    pub fn is_weaker(&self) -> bool {
        match self.deletes {
            true => self.difference.old.verdict == Verdict::Pass,
            false => self.difference.is_weaker(),
        }
    }

    /// Whether the new side denies, or deletes, what the old one leaves.
    pub fn is_stricter(&self) -> bool {
        match self.deletes {
            true => self.difference.new.verdict == Verdict::Pass,
            false => self.difference.is_stricter(),
        }
    }

    /// Whether commands that evaluate objects can show it: they know no requests to subresources
    /// and no other former objects.
    pub fn is_replayable(&self) -> bool {
        self.difference.environment.subresource.is_empty() && self.difference.old_object.is_none()
    }
}

impl Compared {
    /// A comparison of two sides.
    pub fn of(found: Comparison, sides: [&Side; 2], loads: [&Policies; 2], by: PairedBy) -> Compared {
        let shown = |difference: Difference| Shown {
            decided: [
                decided(sides[0], loads[0], &difference, &difference.old),
                decided(sides[1], loads[1], &difference, &difference.new),
            ],
            difference,
            deletes: false,
            file: None,
            user_file: None,
            values_file: None,
            tests: None,
        };
        let is_proved = found.answer.is_proved();
        Compared {
            claimed: found.answer.clone(),
            but_for: Vec::new(),
            answer: found.answer,
            differences: found.differences.into_iter().map(shown).collect(),
            existing: found.existing,
            times: None,
            is_same: found.objects == 0 && is_proved,
            objects: found.objects,
            kinds: found.kinds,
            by,
            policies: loads.map(|load| load.policies.clone()),
            messages: None,
            ignored: Vec::new(),
        }
    }

    /// The answer about a pair of this name: a comparison of its sides without the differences that
    /// are accepted, and with what is claimed of both. `claims`: whether the question is the one
    /// that the claim answers, pair by pair.
    pub fn answered(
        name: &str,
        comparison: Comparison,
        sides: [&Side; 2],
        (loads, by): ([&Policies; 2], PairedBy),
        (options, ignored, claims): (Options, &Ignored, bool),
    ) -> Compared {
        let [before, after] = sides;
        let (reasons, relative_to) = (comparison.reasons.clone(), comparison.relative_to.clone());
        let mut compared = Compared::of(comparison, sides, loads, by);
        // A proof of everything is the same claim, unless it is relative to what the claim
        // assumes. The claim cannot come first: it does not distinguish errors from violations,
        // leaves kinds out, and so says less than the answer.
        let is_whole = !before.may_order_otherwise(after)
            && compared.answer == Answer::Proved
            && compared.existing.is_none()
            && !before.has_ambiguous_wildcard_keys();
        // Of two releases every difference counts.
        let is_claimed = claims
            && !is_whole
            && !before.is_on_another_release(after)
            && !matches!(compared.answer, Answer::Incomparable(_));
        let claim = is_claimed.then(|| Claim::about(before, after, options, None));
        compared.ignore(name, ignored, claim.as_ref(), (&reasons, &relative_to));
        compared.claim(claim.as_ref());
        compared
    }

    /// Leaves out the differences that are accepted, and counts them. `claim`: what is claimed of
    /// both.
    pub fn ignore(
        &mut self,
        name: &str,
        ignored: &Ignored,
        claim: Option<&Claim>,
        (reasons, relative_to): (&[String], &[String]),
    ) {
        let mut classes: Vec<AcceptedClass> = Vec::new();
        let all = std::mem::take(&mut self.differences);
        for shown in all {
            let is_failing = claim.is_some_and(|claim| claim.is_failing(&shown.difference));
            match ignored.of(name, &shown.difference, is_failing) {
                Some(entry) => {
                    classes.push(entry.class.clone());
                    self.count(entry);
                }
                None => self.differences.push(shown),
            }
        }
        if let Some(entry) = ignored.of_existing(name).filter(|_| self.existing.is_some()) {
            self.existing = None;
            self.count(entry);
        }
        if self.answer != Answer::Differs || self.in_clusters().next().is_some() {
            return;
        }
        let mut reasons = reasons.to_vec();
        let is_apart = |class: &AcceptedClass| {
            matches!(class, AcceptedClass::Operation(_) | AcceptedClass::ObjectKind(_))
        };
        if !classes.iter().all(is_apart) {
            // Other operations and kinds of objects are compared whatever differs on one; other
            // kinds of differences may be behind these.
            reasons.push("the search ended at differences that are ignored".into());
        }
        self.answer = Answer::without_difference(reasons, relative_to.to_vec());
    }

    /// Says what the claim about both says; without one it is the answer about every request.
    pub fn claim(&mut self, claim: Option<&Claim>) {
        (self.claimed, self.but_for) = match claim {
            Some(claim) if self.answer == Answer::Differs || claim.answer != Answer::Differs => {
                (claim.answer.clone(), claim.but_for())
            }
            _ => (self.answer.clone(), Vec::new()),
        };
    }

    fn count(&mut self, entry: &Entry) {
        let class = entry.class.name();
        match self.ignored.iter_mut().find(|(known, reason, _)| *known == class && *reason == entry.reason) {
            Some((.., count)) => *count += 1,
            None => self.ignored.push((class, entry.reason.clone(), 1)),
        }
    }

    /// The differences on objects that do not only exist in files.
    pub fn in_clusters(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().map(|shown| &shown.difference).filter(|d| d.universe != Universe::Files)
    }

    /// Whether there is such a difference that does not only exist in files.
    pub fn has(&self, is_such: impl Fn(&Shown) -> bool) -> bool {
        self.differences.iter().any(|shown| shown.difference.universe != Universe::Files && is_such(shown))
    }

    /// The files of a side.
    pub fn sources(&self, side: usize) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for policy in self.policies.get(side).into_iter().flatten() {
            if !all.contains(&&*policy.source) {
                all.push(&policy.source);
            }
        }
        all
    }
}

/// What decided on a side.
fn decided(side: &Side, load: &Policies, difference: &Difference, said: &Judgement) -> DecidingPlace {
    let all = traces(side, difference);
    let is_it = |trace: &&ephor_compare::Trace| {
        let by = said.by.as_ref();
        by.is_some_and(|(policy, rule)| trace.policy.name == *policy && trace.rule == *rule)
            && trace.verdict == said.verdict
    };
    let Some(trace) = all.iter().find(is_it).or(all.first()) else {
        let name = load.policies.first().and_then(name_place);
        return DecidingPlace { place: name, field: None };
    };
    let is_of = |loaded: &&LoadedPolicy| {
        loaded.policy.as_ref().is_some_and(|policy| policy.id() == trace.policy.id())
    };
    DecidingPlace {
        place: load.policies.iter().find(is_of).and_then(|loaded| policy_place(loaded, &trace.decision)),
        field: trace.field.as_ref().map(|path| dotted(path)),
    }
}

/// Where the name of a policy is written.
pub fn name_place(policy: &LoadedPolicy) -> Option<Place> {
    policy_place(policy, &parse("metadata.name"))
}
