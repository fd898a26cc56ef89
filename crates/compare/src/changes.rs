//! Sides that change objects by constants: their results are proved to be the same.
//!
//! In: an environment. Out: nothing, when the objects that stand for all others were evaluated by both sides as a whole; else why they are not
//! known.
//!
//! Why these stand for all: what a rule writes is constant, at places that are known (`writes`), and which of it is written is decided by what
//! the rule reads. Every other part of the object stays where it is. So two sides make the same of an object when at each place both write the same
//! constant, or neither writes, or one writes the value that is there already. The places that are written are put among those that are read, and
//! the constant that is written at a place among those that are tested there: it is a class of its own, so that a side that does not write it shows on
//! the objects of the other classes. Which rules write follows from the classes of what they read (`domain`), and for rules that follow others in
//! the same policy from these and from the constants that the others wrote. That a whole object is replaced, or an item added to a list, shows on what
//! no rule reads (`marked`): each object is evaluated with and without it.
//!
//! Of a list whose items are changed one by one the result is the list of the results of its items, if no two have one key: an item of which
//! the sides make different things shows by itself, besides the items that keep the other statements true.
//!
//! A statement of a rule about the items of a list stays true, or false, with as many items as `items` says: here of all
//! rules of both sides, in either way, for all of them decide together.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use crate::analysis::reads::{Reads, Step, Tree};
use crate::ir::Rule;
use crate::ir::check::{Check, Overlay};
use crate::ir::expressions::{Source, Validation};
use crate::ir::rule::{Body, Message};
use crate::ir::template::Template;
use crate::kubernetes::Types;
use crate::kubernetes::admitted::{Reason, Refusal, admitted};
use crate::kubernetes::schema::Leaf;
use crate::lower::LATE;
use crate::value::place::{PathPart, follow, parse};
use crate::value::{Str, Value};

use super::cover::{MOST_ITEMS, Run, TIME_LIMIT, cases, open};
use super::domain::Domain;
use super::environment::Environment;
use super::fresh::{Fresh, Names};
use super::items::Count;
use super::keyed::{MERGED, has_keys, has_merged_lists, keys_of};
use super::marked::{Marker, is_counted};
use super::predicates::Predicates;
use super::repair::mended;
use super::seen::{Seen, as_if_admitted, has_names_alone, is_refused_with_its_classes, seen_in_clusters};
use super::side::Side;
use super::surroundings::{Case, surroundings};
use super::tested::Tested;
use super::units::{not_read, selects, units};
use super::writes::{
    Made, Resolved, Writes, Written, are_alike, leaf_of, looked_at, makes_alike, resolved, type_at, writes,
};

/// What loops over several lists take for granted: they look for the item of one of them by its name.
const APART: &str = "no two containers of a pod have one name";

/// What they take for granted where the name is a pattern.
const PLAIN_NAMES: &str = "no names of containers that read as numbers, durations or ranges of them";

/// Differences on more objects are not looked for.
const ENOUGH: usize = 64;

/// So many fields are tried as the one that nothing reads.
const MOST_FIELDS: usize = 4;

impl Run<'_> {
    /// Compares what both sides make of all objects of an environment.
    ///
    /// # Errors
    /// Why the objects that stand for all are not known.
    pub(crate) fn changes(&mut self, environment: &Environment) -> Result<(), String> {
        let found = Found::of(self.sides, environment)?;
        let Found { reads, tested, fields, items, uncounted, written, lists, made, copied, merges } = found;
        if let Some(why) = open(&reads, &tested) {
            return Err(why);
        }
        let words = Rc::clone(&self.words);
        let types: &Types = Types::built_in();
        let mut domain =
            Domain::new((types, &words), (&tested, &fields), environment, items, self.options.objects);
        domain.deadline = self.options.deadline;
        let count = Count::of(items);
        let needed = if let Some(why) = &uncounted { Err(why.as_str()) } else { Ok(&count) };
        let (around, why) = surroundings(environment, &reads, &tested, &words, needed);
        domain.uncounted = uncounted;
        let cases = cases(environment, &reads, &tested, &mut domain, &around);
        if let Some(why) = domain.open.take().or(why) {
            return Err(why);
        }
        let is_assumed = domain.is_assumed;
        let mut tree = reads.shown.clone();
        tree.merge(&reads.object);
        let marker = Marker { types, text: unread(&written), other: 0 };
        let def = types.of_kind(&environment.object).map(|def| &**def);
        let mut differing = 0;
        let keyed: Vec<(&Vec<Step>, &[Str])> =
            lists.iter().filter_map(|list| Some((list, keys_of(types, environment, list)?))).collect();
        // The answer is relative to that.
        let is_regular = |case: &Case| keyed.iter().all(|(list, keys)| has_keys(&case.object, list, keys));
        let names = Names { environment, tested: &tested, fields: &fields, words: &words };
        let fresh = Fresh::new(&names, [&copied[0], &copied[1]], &written, &made);
        // Others may show a difference.
        let mut open = None;
        let with_fresh = |case: Case| match copied.iter().all(BTreeSet::is_empty) {
            true => vec![case],
            false => fresh.objects(&case.object).into_iter().map(|object| case.with_object(object)).collect(),
        };
        for case in cases.into_iter().filter(is_regular).flat_map(with_fresh) {
            if fresh.has_failed() {
                return Err(of_samples("a value is copied that is compared"));
            }
            if self.left == 0 {
                return Err("the limit of evaluations was reached".into());
            }
            if self.is_late() {
                return Err(TIME_LIMIT.into());
            }
            if made.iter().any(|(place, one)| !one.shows(place, &case.object)) {
                return Err(of_samples("a function leaves a value as it is"));
            }
            let known = (&reads, &fields);
            match self.differs(environment, known, &case) {
                Ok(None) => {}
                // Whatever else they have.
                Ok(Some(true)) => continue,
                Ok(Some(false)) => differing += 1,
                Err(why) => {
                    open.get_or_insert(why);
                    continue;
                }
            }
            // Where an API server refuses an object with some field more, it may take it with another one.
            let mut found = Ok(None);
            for other in 0..MOST_FIELDS {
                let object = Marker { other, ..marker.clone() }.object(&case.object, def, &tree);
                if object == case.object {
                    break;
                }
                found = self.differs(environment, known, &case.with_object(object));
                if found.is_ok() {
                    break;
                }
            }
            match found {
                Ok(found) => differing += usize::from(found.is_some()),
                Err(why) => _ = open.get_or_insert(why),
            }
            if differing > ENOUGH {
                return Err("objects are left on which sides may differ".into());
            }
        }
        if let Some(why) = open {
            return Err(why);
        }
        self.relative_to.extend(tested.taken);
        if is_assumed {
            self.relative_to.insert(format!("the types of fields of {}", environment.object[2]));
        }
        if merges {
            self.relative_to.insert(MERGED.into());
        }
        Ok(())
    }

    /// Whether the sides differ on an object; if they do, whether an API server refuses all objects of the same classes.
    ///
    /// # Errors
    /// It refuses this one, and may admit another one.
    fn differs(
        &mut self,
        environment: &Environment,
        known: (&Reads, &Tested),
        case: &Case,
    ) -> Result<Option<bool>, String> {
        self.observe(environment, case);
        self.left = self.left.saturating_sub(2);
        self.objects += 1;
        match self.witness(environment, case.clone()).differs {
            true => self.refused(environment, known, case).map(Some),
            false => Ok(None),
        }
    }

    /// An object on which the sides differ: whether an API server refuses all objects of the same classes.
    ///
    /// # Errors
    /// It refuses this one, and may admit another one.
    fn refused(
        &self,
        environment: &Environment,
        (reads, fields): (&Reads, &Tested),
        case: &Case,
    ) -> Result<bool, String> {
        match seen_in_clusters(environment, case) {
            Seen::Unknown | Seen::As(_) => return Ok(false),
            of_all if is_refused_with_its_classes(environment, &of_all, &case.object, reads) => {
                return Ok(true);
            }
            Seen::NoPattern | Seen::Without(_) | Seen::Refused(_) => {}
        }
        if is_constant(environment, fields, &case.object) {
            return Ok(true);
        }
        let is_same = |case: &Case| self.differ(environment, case).is_none();
        let repaired = mended(&case.object, environment.is_creation()).map(|object| case.with_object(object));
        let shown = repaired.and_then(|case| match seen_in_clusters(environment, &case) {
            Seen::As(seen) => Some(seen),
            _ => None,
        });
        let completed = as_if_admitted(environment, case);
        match shown.is_none_or(|case| is_same(&case)) && completed.is_some_and(|case| is_same(&case)) {
            true => Ok(false),
            false => Err("an API server refuses the objects on which rules differ".into()),
        }
    }
}

/// What the rules of both sides read and write together.
struct Found {
    reads: Reads,
    tested: Predicates,
    fields: Tested,
    items: usize,
    /// Why the number of items is not known.
    uncounted: Option<String>,
    written: BTreeSet<String>,
    /// Lists whose items are changed one by one, and others whose items must have other names.
    lists: BTreeSet<Vec<Step>>,
    /// Places at which is written what a function makes of another one.
    made: Vec<(Vec<Step>, Made)>,
    /// Places whose values are copied, and those to which they are; then those that are copied with all that is there.
    copied: [BTreeSet<Vec<Step>>; 2],
    merges: bool,
}

impl Found {
    fn of(sides: [&Side; 2], environment: &Environment) -> Result<Found, String> {
        let mut all = Writes::default();
        // Of each side, what functions make.
        let mut makes: Vec<Vec<(Vec<Step>, Made)>> = Vec::new();
        for side in sides {
            let mut made = Vec::new();
            let rules =
                side.policies().iter().flat_map(|policy| policy.rules_for(&environment.resource.kind));
            for rule in rules.filter(|rule| applies(rule, environment)) {
                let own = of_rule(rule, environment)?;
                if !own.patterns.is_empty()
                    && pattern(&own.patterns).and_then(|one| LATE.pattern(&one)).is_none()
                {
                    return Err(of_samples("conditions of anchors do not go together"));
                }
                all.places.extend(own.places);
                all.patterns.extend(own.patterns);
                all.lists.extend(own.lists);
                all.copied.extend(own.copied);
                all.quoted.extend(own.quoted);
                all.wholes.extend(own.wholes);
                all.entries.extend(own.entries);
                made.extend(own.made);
                all.apart.extend(own.apart);
                all.named.extend(own.named);
                all.merges |= own.merges;
                all.is_first |= own.is_first;
                all.by_pattern |= own.by_pattern;
            }
            makes.push(made);
        }
        let made = makes_alike(&makes, &all.places).map_err(of_samples)?;
        if all.places.iter().any(|(place, _)| all.lists.contains(place)) {
            return Err(of_samples("items of a list are changed one by one, and the list as a whole"));
        }
        are_alike(&all.entries, &all.places).map_err(of_samples)?;
        // A merge puts the items that it changes in front of the others.
        if !all.lists.iter().all(|list| keys_of(Types::built_in(), environment, list).is_some()) {
            return Err(of_samples("items of a list without keys are changed one by one"));
        }
        let mut reads = Reads::default();
        let mut tested = Predicates::default();
        let mut fields = Tested::default();
        // An item that is not changed alike shows by itself.
        // What is done to the first one alone shows besides another one.
        let mut items = usize::from(!all.lists.is_empty()) + 2 * usize::from(all.is_first);
        let mut uncounted = None;
        for side in sides {
            let checks = side.with_rules(&|rule| as_check(rule, environment, true));
            for unit in units(&checks, environment) {
                reads.merge(&unit.reads);
                tested.merge(&unit.predicates);
                fields.merge(&unit.tested);
            }
            // What decides about each item by itself is no statement about a list.
            let others = side.with_rules(&|rule| as_check(rule, environment, false));
            for unit in units(&others, environment) {
                let own = &unit.items;
                items += own.violated.total + own.satisfied.total;
                uncounted = uncounted.or_else(|| own.open.clone());
                if own.violated_by_others || own.satisfied_by_others {
                    uncounted.get_or_insert_with(|| "items of one list go with items of another".into());
                }
            }
        }
        if looks_back(sides, environment) {
            // The former object decides about what is there already.
            let mut former = reads.object.clone();
            former.merge(&reads.shown);
            reads.old.merge(&former);
        }
        fields.are_patterns = tested.are_patterns;
        if items > MOST_ITEMS {
            uncounted.get_or_insert_with(|| "many statements about items of lists".into());
        }
        let mut tree = reads.shown.clone();
        tree.merge(&reads.object);
        for (place, written) in &all.places {
            is_known(environment, &tree, &fields, place, written)?;
        }
        let targets = all.places.iter().filter(|(_, written)| *written == Written::Copied);
        let targets: BTreeSet<Vec<Step>> = targets.map(|(place, _)| place.clone()).collect();
        let mut copied: BTreeSet<Vec<Step>> = targets.union(&all.copied).cloned().collect();
        let is_known = |place: &Vec<Step>| {
            let of = fields.at(place);
            let is_text = Fresh::is_text(environment, place) && !targets.contains(place);
            of.is_about_presence() || (is_text && of.is_about_texts())
        };
        if !copied.iter().all(is_known) {
            return Err(of_samples("a value is copied that is compared, or to where one is"));
        }
        for (place, written) in &all.places {
            reads.shown.add(place, false);
            let (Written::Scalar(value) | Written::Key(value)) = written else { continue };
            match Fresh::is_amount(environment, place) {
                // Nothing looks at it: another amount shows whether one is written.
                true => _ = copied.insert(place.clone()),
                false => fields.add_written(place, value),
            }
        }
        for (map, _) in &all.entries {
            let read = tree_at(&tree, map);
            if read.whole || is_looked_into(&read) {
                return Err(of_samples("entries are read that are written under keys with names"));
            }
        }
        for place in &all.wholes {
            let read = tree_at(&tree, place);
            if !fields.at(place).is_about_presence() || read.whole || is_looked_into(&read) {
                return Err(of_samples("a value is copied that is looked into"));
            }
            reads.shown.add(place, false);
        }
        copied.extend(all.apart.iter().flatten().cloned());
        if all.apart.iter().flatten().any(|place| !fields.at(place).is_about_presence()) {
            return Err(of_samples("names are compared by which items are found"));
        }
        // Quantities and numbers are written in one way.
        let is_text = |place: &&Vec<Step>| {
            (Fresh::is_text(environment, place) || all.wholes.contains(*place))
                && !has_names_alone(&environment.object, place)
        };
        tested.taken.extend(all.quoted.iter().filter(is_text).map(|place| not_read(place)));
        if all.by_pattern {
            tested.taken.insert(PLAIN_NAMES.into());
        }
        if !all.apart.is_empty() {
            tested.taken.insert(APART.into());
        }
        for place in &copied {
            reads.shown.add(place, false);
            // What is copied from there may be looked at where it is copied to.
            if Fresh::is_text(environment, place) {
                fields.add_written(place, &Value::from(""));
            }
        }
        let mut written: BTreeSet<String> = all.texts().into_iter().map(Into::into).collect();
        if !copied.is_empty() {
            let policies = sides.iter().flat_map(|side| side.policies());
            policies.for_each(|policy| written.extend(Predicates::of(policy).constants));
        }
        let items = items.clamp(1, MOST_ITEMS);
        let lists: BTreeSet<Vec<Step>> = all.lists.union(&all.named).cloned().collect();
        let merges = !all.lists.is_empty() || (all.merges && has_merged_lists(environment));
        Ok(Found {
            reads,
            tested,
            fields,
            items,
            uncounted,
            written,
            lists,
            made,
            copied: [copied, all.wholes],
            merges,
        })
    }
}

/// Whether rules look at the former object in the same way as at the new one: those of ClusterPolicies that generate objects.
fn looks_back(sides: [&Side; 2], environment: &Environment) -> bool {
    let mut rules = sides.into_iter().flat_map(|side| side.policies()).flat_map(|policy| policy.all_rules());
    environment.operation == "UPDATE"
        && rules.any(|rule| matches!(rule.body, Body::Generate(_)) && rule.expressions.is_none())
}

/// Whether a rule may apply to requests of an environment.
fn applies(rule: &Rule, environment: &Environment) -> bool {
    // Policies for pods have rules for them and for their controllers.
    let filters = rule.when.filters();
    let has_kinds = !filters.is_empty() && filters.iter().all(|filter| !filter.kinds.is_empty());
    let is_other = environment.is_foreign(rule) || (has_kinds && !environment.is_about(rule));
    !is_other && selects(&rule.when, environment.operation)
}

/// What a rule writes.
fn of_rule(rule: &Rule, environment: &Environment) -> Result<Writes, String> {
    let why = match &rule.body {
        // There is no object to generate something of.
        Body::Generate(_) if environment.operation == "DELETE" && rule.expressions.is_none() => {
            return Ok(Writes::default());
        }
        Body::Generate(_) if environment.operation == "DELETE" => "deletions generate objects",
        Body::Mutate(_) if environment.operation == "DELETE" => "objects are changed that are deleted",
        Body::Mutate(_) if !environment.is_of_resource() => "what is sent to a subresource is changed",
        _ => return writes(rule, &environment.object).map_err(of_samples),
    };
    Err(of_samples(why))
}

fn of_samples(why: &str) -> String {
    format!("objects that rules change or generate are compared on samples: {why}")
}

/// A rule that checks what decides about the changes of another one: it reads and tests the same; `all`: also what decides about an item by
/// itself.
fn as_check(rule: &Arc<Rule>, environment: &Environment, all: bool) -> Arc<Rule> {
    if !matches!(rule.body, Body::Mutate(_) | Body::Generate(_)) {
        return Arc::clone(rule);
    }
    if !applies(rule, environment) {
        return checking(rule, Check::Nothing);
    }
    let Writes { mut conditions, mut patterns, of_items, mut each, holes, .. } =
        writes(rule, &environment.object).unwrap_or_default();
    match all {
        true => conditions.extend(of_items),
        false => {
            patterns.retain(|(place, _)| !place.contains(&Step::Items));
            each.retain(|(_, is_own)| !is_own);
        }
    }
    let of_documents = || {
        if let Some(pattern) = pattern(&patterns).and_then(|pattern| LATE.pattern(&pattern)) {
            return Check::Pattern(Overlay::Ready(Arc::new(pattern)), rule.origin.clone());
        }
        match (each.is_empty(), holes.is_empty()) {
            (false, _) => Check::ForEach(each.into_iter().map(|(one, _)| one).collect()),
            (true, false) => Check::Deny(looked_at(&holes, &rule.origin)),
            (true, true) => Check::Nothing,
        }
    };
    let check = match rule.expressions.is_some() {
        true => {
            Check::Assert(conditions.into_iter().map(|own| validation(Source::new("", Ok(own)))).collect())
        }
        false => of_documents(),
    };
    checking(rule, check)
}

/// A rule that checks something in place of what another one does.
pub(crate) fn checking(rule: &Arc<Rule>, check: Check) -> Arc<Rule> {
    let message = Message {
        origin: rule.origin.clone(),
        text: "".into(),
        template: Template::Const(Value::from("")),
        passed: "".into(),
        names: [].into(),
    };
    Arc::new(Rule { body: Body::Validate { check, message }, ..(**rule).clone() })
}

/// A validation without a message.
pub(crate) fn validation(check: Source) -> Validation {
    Validation { check, message: "".into(), message_program: None, reason: "".into() }
}

/// The leaves of a pattern at their places, as one document; `None` where two of them do not go together.
fn pattern(leaves: &[(Vec<Step>, Value)]) -> Option<Value> {
    fn with(document: Value, place: &[Step], leaf: &Value) -> Option<Value> {
        let Some((step, rest)) = place.split_first() else {
            return (document.is_null() || document == *leaf).then(|| leaf.clone());
        };
        match (step, document) {
            (Step::Key(key), Value::Null | Value::Map(_)) if key.contains(['*', '?', '(', ')']) => None,
            (Step::Key(key), Value::Null) => Some(Value::map([(&**key, with(Value::Null, rest, leaf)?)])),
            (Step::Key(key), document @ Value::Map(_)) => {
                let below = document.get(key).cloned().unwrap_or_default();
                Some(document.with(key, with(below, rest, leaf)?))
            }
            (Step::Items, Value::Null) => Some(Value::list(vec![with(Value::Null, rest, leaf)?])),
            (Step::Items, Value::List(items)) => {
                let first = items.first().cloned().unwrap_or_default();
                Some(Value::list(vec![with(first, rest, leaf)?]))
            }
            _ => None,
        }
    }
    let mut document = Value::Null;
    for (place, leaf) in leaves {
        document = with(document, place, leaf)?;
    }
    (!document.is_null()).then_some(document)
}

/// A text that is written nowhere.
fn unread(written: &BTreeSet<String>) -> Str {
    let mut text = String::from("unread");
    while written.contains(&text) {
        text.push('x');
    }
    text.into()
}

/// Whether an API server refuses an object because of a text that is a class of its own.
fn is_constant(environment: &Environment, fields: &Tested, object: &Value) -> bool {
    let Some(Err(Refusal { reason: Reason::Invalid, path, .. })) = admitted(&environment.object, object)
    else {
        return false;
    };
    let path = parse(&path);
    let (found, steps) = follow(object, &path);
    let place: Vec<Step> = path
        .iter()
        .map(|part| match part {
            PathPart::Key(key) => Step::Key(key.clone()),
            PathPart::Index(_) => Step::Items,
        })
        .collect();
    let is_alone = |text: &str| {
        let languages = fields.at(&place).languages();
        languages.globs.contains(text) || languages.texts.contains(text)
    };
    steps == path.len() && found.as_str().is_some_and(is_alone)
}

/// Whether what is read distinguishes what is written from all else that may be there.
fn is_known(
    environment: &Environment,
    tree: &Tree,
    fields: &Tested,
    place: &[Step],
    written: &Written,
) -> Result<(), String> {
    let types: &Types = Types::built_in();
    let (ty, read) = (type_at(types, &environment.object, place), tree_at(tree, place));
    let why = match written {
        Written::Scalar(value) | Written::Key(value) => {
            let is_wild = value.as_str().is_some_and(|text| text.contains(['*', '?']));
            match ty.and_then(|ty| leaf_of(types, ty)) {
                _ if is_wild => "a text with wildcards is written",
                // Two notations of one amount are one class.
                Some(Leaf::Quantity) if !fields.at(place).is_about_presence() => {
                    "an amount is compared and written"
                }
                Some(Leaf::Double | Leaf::Time | Leaf::MicroTime) => {
                    "a time, or a number with a fraction, is written"
                }
                _ => return Ok(()),
            }
        }
        Written::Whole if is_counted(&read) => "the entries of an object that is replaced are read",
        Written::WholeList if read.whole || read.names => "all of a list that is replaced is read",
        Written::WholeList if read.items.is_some() || read.nested.is_some() => {
            let mut below = read.items.as_deref().cloned().unwrap_or_default();
            if let Some(nested) = &read.nested {
                below.merge(nested);
            }
            let marker = Marker { types, text: "".into(), other: 0 };
            match ty.map(|ty| resolved(types, ty)) {
                Some(Resolved::List(_, item)) => match resolved(types, item) {
                    Resolved::Object(def, _) if marker.has_room(def, &below) => return Ok(()),
                    _ => "the items of a list that is replaced are read",
                },
                _ => "the items of a list that is replaced are read",
            }
        }
        Written::Whole | Written::WholeList | Written::Item | Written::Shape | Written::Copied => {
            return Ok(());
        }
    };
    Err(of_samples(why))
}

/// Whether parts of a value are read.
fn is_looked_into(tree: &Tree) -> bool {
    tree.names || !tree.keys.is_empty() || tree.items.is_some() || tree.nested.is_some()
}

/// What is read of a place.
fn tree_at(tree: &Tree, place: &[Step]) -> Tree {
    if tree.whole {
        return Tree::all();
    }
    let Some((step, rest)) = place.split_first() else { return tree.clone() };
    let mut found = Tree::default();
    let key = match step {
        Step::Key(key) => tree.get(key),
        Step::Items | Step::Nested => tree.nested.as_deref(),
    };
    // Of an object the items are its values.
    for below in key.into_iter().chain(tree.items.as_deref()) {
        found.merge(&tree_at(below, rest));
    }
    found
}
