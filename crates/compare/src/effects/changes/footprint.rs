//! What the rules of both sides that change objects read, test and write together.
//!
//! In: both sides, an environment. Out: [`MutationFootprint`]: what the objects must have that
//! stand for all others. Or why these are not known: what one rule writes another one reads in a
//! way that is not followed, or writes in another way.

use std::collections::{BTreeMap, BTreeSet};

use ephor_analysis::reads::{ReadTree, Reads, Step};
use ephor_ir::rule::Body;
use ephor_kubernetes::Types;
use ephor_kubernetes::schema::Leaf;
use ephor_value::{Str, Value};

use crate::effects::changes::checks::{applies, as_check, of_rule, of_samples};
use crate::effects::changes::positions::Positions;
use crate::effects::frame::{Marker, is_counted};
use crate::effects::fresh::Fresh;
use crate::effects::merge_keys::{has_merged_lists, keys_of};
use crate::effects::writes::model::{Writes, Written, in_items};
use crate::effects::writes::{DerivedValue, are_alike, leaf_of, makes_alike};
use crate::lists::small_model::Count;
use crate::model::environment::Environment;
use crate::model::field_types::{Resolved, has_names_alone, resolved, type_at};
use crate::model::limits::MAX_ITEM_STATEMENTS;
use crate::model::request::RequestContext;
use crate::model::unsupported::Unsupported;
use crate::model::world::Copied;
use crate::predicates::by_field::Tested;
use crate::predicates::summary::Predicates;
use crate::sides::side::Side;
use crate::units::split::{assumes_no_variables, units};

/// What loops over several lists assume: they look for the item of one of them by its
/// name.
const APART: &str = "no two containers of a pod have one name";

/// What they assume where the name is a pattern.
const PLAIN_NAMES: &str = "no names of containers that read as numbers, durations or ranges of them";

/// What documents assume of names of users.
const USERS: &str = "no quotes, braces or anchors in names of users";

/// A place, and what a function makes of another one.
type DerivedPlace = (Vec<Step>, DerivedValue);

/// What the rules of both sides read and write together.
#[derive(Default)]
pub(crate) struct MutationFootprint {
    /// What is read, and the places that are written.
    pub reads: Reads,
    /// What is tested anywhere.
    pub tested: Predicates,
    /// What is tested at each field, and the constants that are written there.
    pub fields: Tested,
    /// This many items of lists matter.
    pub items: Count,
    /// Why the number of items is not known.
    pub uncounted: Option<String>,
    /// The texts that are written; where something is copied all constants of the policies.
    pub written: BTreeSet<String>,
    /// Lists whose items are changed one by one, and others whose items must have other names.
    pub lists: BTreeSet<Vec<Step>>,
    /// Places at which is written what a function makes of another one.
    pub made: Vec<DerivedPlace>,
    /// Places whose values are copied, and those to which they are; then those that are copied with
    /// all that is there.
    pub copied: [BTreeSet<Vec<Step>>; 2],
    /// Objects that exist, of which copies are generated.
    pub cloned: BTreeSet<Copied>,
    /// Whether lists are merged by keys.
    pub merges: bool,
    /// What is read where it is not an item alone that decides about the item.
    elsewhere: ReadTree,
    /// The list into whose items loops over several lists write.
    pub positions: Option<Positions>,
}

impl MutationFootprint {
    pub fn of(sides: [&Side; 2], environment: &Environment) -> Result<MutationFootprint, String> {
        let (all, made) = written(sides, environment)?;
        let mut found = MutationFootprint::tested(sides, environment, &all);
        let mut tree = found.reads.shown.clone();
        tree.merge(&found.reads.object);
        for (place, written) in &all.places {
            is_known(environment, &tree, &found.fields, place, written)?;
        }
        found.copies(environment, &all, &tree)?;
        let positions = Positions::of(&all, &found.elsewhere).map_err(of_samples)?;
        if all.is_of_user && found.reads.user {
            return Err(of_samples(Unsupported::ComparedUser));
        }
        let mut written: BTreeSet<String> = all.texts().into_iter().map(Into::into).collect();
        if !found.copied[0].is_empty() || all.is_of_user {
            let policies = sides.iter().flat_map(|side| side.policies());
            policies.for_each(|policy| written.extend(Predicates::of(policy).constants));
        }
        if all.is_of_user {
            let usual = RequestContext::default().user.info;
            if written.iter().any(|text| text.contains(usual.text_at(&["username"]))) {
                return Err(of_samples(Unsupported::WrittenUser));
            }
            found.tested.assumptions.insert(USERS.into());
        }
        Ok(MutationFootprint {
            written,
            lists: all.lists.union(&all.named).cloned().collect(),
            merges: !all.lists.is_empty() || (all.merges && has_merged_lists(environment)),
            made,
            cloned: all.cloned,
            positions,
            ..found
        })
    }

    /// What rules read and test.
    fn tested(sides: [&Side; 2], environment: &Environment, all: &Writes) -> MutationFootprint {
        // An item that is not changed alike shows by itself; what is done to the first one alone,
        // or what ends a loop, shows next to another one.
        let items = usize::from(!all.lists.is_empty())
            + usize::from(all.may_fail)
            + 2 * usize::from(all.is_first || !all.joins.is_empty());
        let mut found = MutationFootprint { items: Count::of(items), ..MutationFootprint::default() };
        let last = |list: &Vec<Step>| match list.last() {
            Some(Step::Key(key)) => Some(key.to_string()),
            _ => None,
        };
        // Of others one element after the other decides.
        let walked = all.positioned.iter().flat_map(|one| &one.over);
        let changed: BTreeSet<String> = all.lists.iter().chain(walked).filter_map(last).collect();
        // Items of one list are not those of another one.
        let mut in_items: BTreeMap<String, Count> = BTreeMap::new();
        for side in sides {
            let checks = side.with_rules(&|rule| as_check(rule, environment, true));
            for unit in units(&checks, environment) {
                found.reads.merge(&unit.reads);
                found.tested.merge(&unit.predicates);
                found.fields.merge(&unit.tested);
                let own = &unit.items;
                // Each item of a list that is changed by itself has as many items as these
                // statements need, each of which holds or does not.
                if all.nests {
                    let lists = own.violated.names().filter(|name| changed.contains(*name));
                    let of_item = own.violated.clone().or(&own.satisfied).without(&changed);
                    let lists: Vec<String> = lists.map(Into::into).collect();
                    let lists = if lists.is_empty() { changed.iter().cloned().collect() } else { lists };
                    for list in lists {
                        let known: &mut Count = in_items.entry(list).or_default();
                        *known = std::mem::take(known).and(&of_item);
                    }
                    found.uncounted = found.uncounted.or_else(|| own.open.clone());
                }
            }
            // What decides about each item by itself is no statement about a list.
            let others = side.with_rules(&|rule| as_check(rule, environment, false));
            for unit in units(&others, environment) {
                let own = &unit.items;
                found.elsewhere.merge(&unit.objects);
                found.items = found.items.and(&own.violated).and(&own.satisfied);
                found.uncounted = found.uncounted.or_else(|| own.open.clone());
                if own.violated_by_others || own.satisfied_by_others {
                    found
                        .uncounted
                        .get_or_insert_with(|| "items of one list go with items of another".into());
                }
            }
        }
        let in_items = in_items.into_values().fold(Count::default(), |most, own| most.or(&own));
        found.items = found.items.and(&in_items);
        if reads_old_object(sides, environment) {
            // The former object decides about what is there already.
            let mut former = found.reads.object.clone();
            former.merge(&found.reads.shown);
            found.reads.old.merge(&former);
        }
        found.fields.are_patterns = found.tested.are_patterns;
        if found.items.total > MAX_ITEM_STATEMENTS {
            found.uncounted.get_or_insert_with(|| "many statements about items of lists".into());
        }
        found.items.total = found.items.total.clamp(1, MAX_ITEM_STATEMENTS);
        found
    }

    /// The places that are written are read, with the constants and copies that are written there;
    /// `tree`: what was read before.
    fn copies(&mut self, environment: &Environment, all: &Writes, tree: &ReadTree) -> Result<(), String> {
        let targets = all.places.iter().filter(|(_, written)| *written == Written::Copied);
        let targets: BTreeSet<Vec<Step>> = targets.map(|(place, _)| place.clone()).collect();
        let mut copied: BTreeSet<Vec<Step>> = targets.union(&all.copied).cloned().collect();
        let is_followed = |place: &Vec<Step>| match targets.contains(place) {
            true => self.fields.at(place).is_about_presence(),
            false => self.has_others(environment, place),
        };
        if !copied.iter().all(is_followed) {
            return Err(of_samples(Unsupported::ComparedCopyOrTarget));
        }
        let is_read = |place: &[Step]| {
            let read = tree_at(tree, place);
            read.whole || is_looked_into(&read)
        };
        if all.entries.iter().any(|(map, _)| is_read(map)) {
            return Err(of_samples(Unsupported::ReadUnderWrittenKeys));
        }
        if all.wholes.iter().any(|place| !self.fields.at(place).is_about_presence() || is_read(place)) {
            return Err(of_samples(Unsupported::CopyReadByConditions));
        }
        if all.apart.iter().flatten().any(|place| !self.fields.at(place).is_about_presence()) {
            return Err(of_samples(Unsupported::ComparedNames));
        }
        for (place, written) in &all.places {
            self.reads.shown.add(place, false);
            let (Written::Scalar(value) | Written::Key(value)) = written else { continue };
            match Fresh::is_amount(environment, place) {
                // Nothing reads it: another amount shows whether one is written.
                true => _ = copied.insert(place.clone()),
                false => self.fields.add_written(place, value),
            }
        }
        copied.extend(all.apart.iter().flatten().cloned());
        for place in &copied {
            self.reads.shown.add(place, false);
            // What is copied from there may be read where it is copied to.
            if Fresh::is_text(environment, place) {
                self.fields.add_written(place, &Value::from(""));
            }
        }
        all.wholes.iter().for_each(|place| self.reads.shown.add(place, false));
        self.taken(environment, all);
        copied.extend(self.keys(environment, all));
        self.copied = [copied, all.wholes.clone()];
        Ok(())
    }

    /// The keys of items that are changed one by one: no two of a list have the same, though they
    /// may be of one class.
    fn keys(&self, environment: &Environment, all: &Writes) -> Vec<Vec<Step>> {
        let of_list = |list: &Vec<Step>| {
            let keys = keys_of(Types::built_in(), environment, list).unwrap_or_default();
            keys.iter().map(|key| in_items(list, &[Step::Key(key.clone())])).collect::<Vec<_>>()
        };
        all.lists.iter().flat_map(of_list).filter(|place| self.has_others(environment, place)).collect()
    }

    /// Whether another value can take the place of one: nothing but texts is distinguished there.
    fn has_others(&self, environment: &Environment, place: &[Step]) -> bool {
        let of = self.fields.at(place);
        of.is_about_presence() || (Fresh::is_text(environment, place) && of.is_about_texts())
    }

    /// What is assumed of what is copied.
    fn taken(&mut self, environment: &Environment, all: &Writes) {
        // Quantities and numbers are written in one way.
        let is_text = |place: &&Vec<Step>| {
            (Fresh::is_text(environment, place) || all.wholes.contains(*place))
                && !has_names_alone(&environment.object, place)
        };
        let assumptions = &mut self.tested.assumptions;
        assumptions.extend(all.quoted.iter().filter(is_text).map(|place| assumes_no_variables(place)));
        assumptions.extend(all.by_pattern.then(|| PLAIN_NAMES.into()));
        assumptions.extend((!all.apart.is_empty()).then(|| APART.into()));
    }
}

/// What the rules of both sides write, and what functions make of it.
fn written(sides: [&Side; 2], environment: &Environment) -> Result<(Writes, Vec<DerivedPlace>), String> {
    let mut all = Writes::default();
    let mut makes: Vec<Vec<DerivedPlace>> = Vec::new();
    let mut several = false;
    for side in sides {
        let rules = side.policies().iter().flat_map(|policy| policy.rules_for(&environment.resource.kind));
        let mut copied = BTreeSet::new();
        for rule in rules.filter(|rule| applies(rule, environment)) {
            let own = of_rule(rule, environment)?;
            copied.extend(own.cloned.iter().cloned());
            all.merge(own);
        }
        makes.push(std::mem::take(&mut all.made));
        let generated = std::mem::take(&mut all.generated);
        several |= generated.len() > 1;
        are_apart(&generated, &copied)?;
    }
    // What fails ends all of a GeneratingPolicy, and a rule of a ClusterPolicy.
    let is_name = |place: &Vec<Step>| {
        matches!(&place[..], [Step::Key(metadata), Step::Key(key)]
            if **metadata == *"metadata" && matches!(&**key, "name" | "namespace" | "uid"))
    };
    if several && !all.copied.iter().chain(&all.wholes).all(is_name) {
        return Err(of_samples(Unsupported::OneOfSeveralFails));
    }
    // Which namespace that is says the other side.
    let is_known = |(kind, name): &([Str; 3], Option<Str>)| {
        all.cloned.iter().any(|one| one.kind == *kind && one.name == *name)
    };
    if !all.cloned_here.iter().all(is_known) {
        return Err(of_samples(Unsupported::CopiedByOneSide));
    }
    let made = makes_alike(&makes, &all.places).map_err(of_samples)?;
    are_alike(&all.entries, &all.places).map_err(of_samples)?;
    if all.places.iter().any(|(place, _)| all.lists.contains(place)) {
        return Err(of_samples(Unsupported::ItemsAndWhole));
    }
    // A merge puts the items that it changes in front of the others.
    if !all.lists.iter().all(|list| keys_of(Types::built_in(), environment, list).is_some()) {
        return Err(of_samples(Unsupported::ItemsWithoutKeys));
    }
    Ok((all, made))
}

/// Whether all that a side generates is known to be different objects, and is generated whatever
/// becomes of the rest.
fn are_apart(generated: &[Option<[Option<Str>; 3]>], cloned: &BTreeSet<Copied>) -> Result<(), String> {
    let copies = !cloned.is_empty();
    let lists = generated.iter().filter(|one| one.is_none()).count();
    if copies && generated.len() > 1 && lists < generated.len() {
        return Err(of_samples(Unsupported::SomeOfSeveralCopied));
    }
    let kinds: BTreeSet<&[Str; 3]> = cloned.iter().map(|one| &one.kind).collect();
    if lists > 0 && kinds.len() < cloned.len() {
        return Err(of_samples(Unsupported::SeveralSources));
    }
    let may_be_same = |one: &[Option<Str>; 3], other: &[Option<Str>; 3]| {
        one.iter().zip(other).all(|(one, other)| one.is_none() || other.is_none() || one == other)
    };
    let all: Vec<&[Option<Str>; 3]> = generated.iter().flatten().collect();
    let is_twice =
        |(at, one): (usize, &&[Option<Str>; 3])| all.iter().skip(at + 1).any(|other| may_be_same(one, other));
    match all.iter().enumerate().any(is_twice) {
        true => Err(of_samples(Unsupported::GeneratedTwice)),
        false => Ok(()),
    }
}

/// Whether rules read the former object in the same way as at the new one: those of
/// ClusterPolicies that generate objects.
fn reads_old_object(sides: [&Side; 2], environment: &Environment) -> bool {
    let mut rules = sides.into_iter().flat_map(|side| side.policies()).flat_map(|policy| policy.all_rules());
    environment.operation == "UPDATE"
        && rules.any(|rule| matches!(rule.body, Body::Generate(_)) && rule.expressions.is_none())
}

/// Whether what is read distinguishes what is written from all else that may be there.
fn is_known(
    environment: &Environment,
    tree: &ReadTree,
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
                _ if is_wild => Unsupported::WildcardText,
                // Two notations of one amount are one class.
                Some(Leaf::Quantity) if !fields.at(place).is_about_presence() => Unsupported::ComparedAmount,
                Some(Leaf::Double | Leaf::Time | Leaf::MicroTime) => Unsupported::TimeOrFraction,
                _ => return Ok(()),
            }
        }
        Written::Whole if is_counted(&read) => Unsupported::ReplacedObjectRead,
        Written::WholeList if read.whole || read.names => Unsupported::ReplacedListRead,
        Written::WholeList if read.items.is_some() || read.nested.is_some() => {
            let mut below = read.items.as_deref().cloned().unwrap_or_default();
            if let Some(nested) = &read.nested {
                below.merge(nested);
            }
            let marker = Marker { types, text: "".into(), skipped: BTreeSet::new() };
            match ty.map(|ty| resolved(types, ty)) {
                Some(Resolved::List(_, item)) => match resolved(types, item) {
                    Resolved::Object(def, _) if marker.can_hold_probe(def, &below) => return Ok(()),
                    _ => Unsupported::ReplacedItemsRead,
                },
                _ => Unsupported::ReplacedItemsRead,
            }
        }
        Written::Whole | Written::WholeList | Written::Item | Written::Shape | Written::Copied => {
            return Ok(());
        }
    };
    Err(of_samples(why))
}

/// Whether parts of a value are read.
fn is_looked_into(tree: &ReadTree) -> bool {
    tree.names || !tree.keys.is_empty() || tree.items.is_some() || tree.nested.is_some()
}

/// What is read of a place.
fn tree_at(tree: &ReadTree, place: &[Step]) -> ReadTree {
    if tree.whole {
        return ReadTree::all();
    }
    let Some((step, rest)) = place.split_first() else { return tree.clone() };
    let mut found = ReadTree::default();
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
