//! What documents with variables write, and loops of `foreach` over the items of lists.
//!
//! In: the patch of a rule of a ClusterPolicy, the object of its request. Out: as for documents
//! without variables; what a variable gives is copied. A loop is followed whose document merges
//! something into the item that the loop reads: into that of its list which has the name of the
//! element, so that each item is changed by itself. Where a loop walks over several lists, elements
//! of the others have other names.

use std::cell::Cell;

use ephor_analysis::reads::Step;
use ephor_ir::check::{Check, ForEach};
use ephor_ir::condition::{Condition, Operator, Ordering};
use ephor_ir::mutate::{Change, Json, Merge, Patch, PatchLoop};
use ephor_ir::shape::Anchor;
use ephor_ir::template::{Hole, Part};
use ephor_ir::walk::holds;
use ephor_ir::{Conditions, Expr, Origin, Query, Template};
use ephor_kubernetes::admitted::needed;
use ephor_lower::LATE;
use ephor_patch::merge::DIRECTIVE;
use ephor_patch::operation::{JsonPatch, decode};
use ephor_patch::schema::Schema;
use ephor_value::variables::{expression, find_variables};
use ephor_value::{Str, Value};

use crate::effects::writes::documents::POSITION;
use crate::effects::writes::item_conditions::ConditionScope;
use crate::effects::writes::model::{CopyKind, Done, PlaceType, WriteCollector, Written};
use crate::effects::writes::places::{has_plain_names, in_element, is_user, lists_of};
use crate::model::field_types::{Resolved, keyed_at, resolved, type_at};
use crate::model::limits::MAX_WRITE_DEPTH;
use crate::model::unsupported::Unsupported;

/// A part of a document, filled in or not.
#[derive(Clone, Copy)]
enum Node<'r> {
    Template(&'r Template),
    Value(&'r Value),
}

impl<'r> Node<'r> {
    fn of(template: &'r Template) -> Node<'r> {
        match template {
            Template::Const(value) => Node::Value(value),
            other => Node::Template(other),
        }
    }

    /// The members of an object; `None`: it is none, or not all of its keys are known.
    fn members(self) -> Option<Vec<(Str, Node<'r>)>> {
        match self {
            Node::Value(Value::Map(map)) => {
                Some(map.iter().map(|(key, value)| (key.clone(), Node::Value(value))).collect())
            }
            Node::Template(Template::Object(pairs)) => {
                let member = |(key, value): &'r (Template, Template)| match key {
                    Template::Const(Value::Str(key)) => Some((key.clone(), Node::of(value))),
                    _ => None,
                };
                pairs.iter().map(member).collect()
            }
            _ => None,
        }
    }

    /// Whether it adds what is not there, somewhere; what nests too deeply may do so.
    fn adds(self, depth: usize) -> bool {
        let is_one = |(raw, value): (Str, Node<'r>)| {
            Anchor::parse(&raw).0 == Anchor::AddIfAbsent || value.adds(depth + 1)
        };
        depth > MAX_WRITE_DEPTH || self.members().is_some_and(|members| members.into_iter().any(is_one))
    }

    fn items(self) -> Option<Vec<Node<'r>>> {
        match self {
            Node::Value(Value::List(items)) => Some(items.iter().map(Node::Value).collect()),
            Node::Template(Template::List(items)) => Some(items.iter().map(Node::of).collect()),
            _ => None,
        }
    }
}

/// A JSON patch whose only variables are positions of the element, with [`POSITION`] in their
/// place.
fn at_position(text: &Template) -> Option<JsonPatch> {
    let rounds = match text {
        Template::Text(text) => &text.rounds,
        Template::Rounds(rounds) => rounds,
        _ => return None,
    };
    let mut patch = rounds.source.to_string();
    for variable in find_variables(&rounds.source).into_iter().rev() {
        (expression(rounds.source.get(variable.clone())?) == "elementIndex").then_some(())?;
        patch.replace_range(variable, POSITION);
    }
    let is_position = rounds.source.matches(POSITION).next().is_none() && !patch.contains("{{");
    decode(&patch).ok().filter(|_| is_position)
}

/// What conditions in a loop read.
fn about_element(conditions: &Conditions) -> ConditionScope {
    let nests = Cell::new(false);
    let of_list = |is_known: bool| {
        nests.set(true);
        is_known
    };
    let of_element = |expr: &Expr| {
        !holds(expr, &|e| match e {
            // Paths of items of its lists begin at a binder.
            Expr::Path { base, .. } => matches!(**base, Expr::Root) && in_element(e).is_none(),
            Expr::Const(Value::List(_)) | Expr::Local(_) | Expr::Flatten(_) | Expr::Project { .. } => {
                !of_list(true)
            }
            Expr::Const(value) => matches!(value, Value::Map(_)),
            Expr::Root | Expr::Or(_) | Expr::And(_) | Expr::Not(_) | Expr::Rescue { .. } => false,
            _ => true,
        })
    };
    let is_own = |template: &Template| match template {
        Template::Const(value) => !matches!(value, Value::Map(_)),
        Template::Whole(hole) => hole.query.expr.as_ref().is_ok_and(of_element),
        _ => false,
    };
    let mut all = conditions.any.iter().flatten().chain(&conditions.all);
    let is_about_item = all.all(|one| is_own(&one.key) && is_own(&one.value));
    ConditionScope::of(is_about_item, nests.get())
}

/// The number of the items that a list has.
fn number_of(list: &Expr, hole: &Hole) -> Option<Hole> {
    let mut query = LATE.query("length(@)", &[]);
    let Ok(Expr::Call { args, .. }) = &mut query.expr else { return None };
    *args = [list.clone()].into();
    Some(Hole { query, rounds: hole.rounds.clone() })
}

/// Conditions that read values, whatever they are, and at whether lists have items.
pub(crate) fn conditions_on(values: &[Hole], numbers: &[Hole], origin: &Origin) -> Conditions {
    let one = |hole: &Hole, operator: Operator, value: Value| Condition {
        origin: origin.clone(),
        key: Template::Whole(Box::new(hole.clone())),
        operator: Some(operator),
        value: Template::Const(value),
        prepared: None,
        message: "".into(),
    };
    let values = values.iter().map(|hole| one(hole, Operator::Equals, Value::from("")));
    let numbers = numbers.iter().map(|hole| one(hole, Operator::Order(Ordering::Gt), Value::Int(0)));
    Conditions {
        origin: origin.clone(),
        any: Some(values.chain(numbers).collect()),
        all: [].into(),
        flat: false,
    }
}

impl<'r> WriteCollector<'r> {
    /// Loops of a rule of a ClusterPolicy.
    pub(crate) fn for_each(&mut self, loops: &'r [PatchLoop], schema: Schema, at: PlaceType<'r>) -> Done {
        loops.iter().try_for_each(|one| self.patch_loop(one, schema, at))
    }

    fn patch_loop(&mut self, one: &'r PatchLoop, schema: Schema, at: PlaceType<'r>) -> Done {
        if !one.bindings.is_empty() {
            return Err(Unsupported::LoopVariables);
        }
        let Ok(list) = &one.list.expr else { return Err(Unsupported::ItemsChanged) };
        let known = self.found.places.len();
        self.elements = lists_of(list).ok_or(Unsupported::ItemsChanged)?;
        let done = match &one.change {
            Change::Patch(Patch::Merge(Merge::Dynamic(document)), _) => {
                self.found.merges = true;
                self.document(Node::of(document), schema, at, 0)
            }
            Change::Patch(Patch::Json(Json::Dynamic(text)), _) => {
                at_position(text).ok_or(Unsupported::ItemsChanged).and_then(|patch| self.json(&patch, at))
            }
            _ => Err(Unsupported::ItemsChanged),
        };
        let holes = std::mem::take(&mut self.holes);
        done?;
        // What is written elsewhere says that there is an element.
        let is_elsewhere = |(place, written): &(Vec<Step>, Written)| {
            !place.contains(&Step::Items) && *written != Written::Shape
        };
        let about = one.admit.as_ref().map_or(ConditionScope::Item, about_element);
        self.found.nests |= about == ConditionScope::Nested;
        let is_own =
            about != ConditionScope::Others && !self.found.places.iter().skip(known).any(is_elsewhere);
        // What fails for one element ends the loop for all.
        let admit = one.admit.iter().flat_map(|all| all.any.iter().flatten().chain(&all.all));
        if self.positioned.is_some() {
            admit.clone().try_for_each(|one| self.reads_element_of(one))?;
            self.positioned = None;
        }
        let parts = admit.flat_map(|one| [&one.key, &one.value]);
        self.found.may_fail |= parts.into_iter().any(|part| self.may_fail_in(part))
            || holes.iter().any(|hole| self.may_fail_of(&hole.query));
        let check = Check::Deny(conditions_on(&holes, &[], &one.origin));
        let check = ForEach {
            origin: one.origin.clone(),
            list: one.list.clone(),
            element_scope: None,
            bindings: [].into(),
            admit: one.admit.clone(),
            check,
        };
        self.found.each.push((check, is_own));
        self.elements = Vec::new();
        Ok(())
    }

    fn reads_element_of(&mut self, condition: &Condition) -> Done {
        let as_set = condition.operator.is_some_and(Operator::is_membership);
        [&condition.key, &condition.value].into_iter().try_for_each(|template| match template {
            Template::Const(_) => Ok(()),
            Template::Whole(hole) => {
                self.reads_element(hole.query.expr.as_ref().map_err(|_| Unsupported::ItemsChanged)?, as_set)
            }
            _ => Err(Unsupported::ItemsChanged),
        })
    }

    fn may_fail_in(&self, template: &Template) -> bool {
        match template {
            Template::Const(_) => false,
            Template::Whole(hole) => self.may_fail_of(&hole.query),
            _ => true,
        }
    }

    fn may_fail_of(&self, query: &Query) -> bool {
        query.expr.as_ref().map_or(true, |expr| self.may_fail(expr))
    }

    /// Whether an expression fails for some elements: what it reads of them may be missing.
    fn may_fail(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Const(_) | Expr::Rescue { .. } => false,
            Expr::Or(sides) | Expr::And(sides) => sides.iter().any(|side| self.may_fail(side)),
            Expr::Not(inner) | Expr::Flatten(inner) => self.may_fail(inner),
            Expr::Project { source, keep: None, body: None, .. } => self.may_fail(source),
            other => {
                let is_there = |below: &[Step], list: &Vec<Step>| {
                    let [Step::Key(key)] = below else { return false };
                    let ty = type_at(self.types, self.kind, list).map(|ty| resolved(self.types, ty));
                    let Some(Resolved::List(_, item)) = ty else { return false };
                    let Resolved::Object(def, _) = resolved(self.types, item) else { return false };
                    needed(&def.name).contains(&&**key)
                };
                let below = in_element(other);
                !below.is_some_and(|below| self.elements.iter().all(|list| is_there(&below, list)))
            }
        }
    }

    /// A document that is merged.
    fn document(&mut self, node: Node<'r>, schema: Schema, at: PlaceType<'r>, depth: usize) -> Done {
        if depth > MAX_WRITE_DEPTH {
            return Err(Unsupported::TooDeep);
        }
        if let Node::Template(Template::Object(pairs)) = node
            && let [(key @ Template::Text(_), value)] = &**pairs
        {
            return self.filled_key(key, value, at);
        }
        if let Some(members) = node.members() {
            if depth > 0 {
                self.add(Written::Shape);
            }
            return members.into_iter().try_for_each(|(raw, value)| {
                let (anchor, key) = Anchor::parse(&raw);
                if key == DIRECTIVE || !matches!(anchor, Anchor::None | Anchor::AddIfAbsent) {
                    return Err(Unsupported::AnchorDecidesWhole);
                }
                let key = Str::from(key);
                let at = at.field(self.types, &key);
                self.below(&key, |own| own.document(value, schema.field(&key), at, depth + 1))
            });
        }
        match (node.items(), node) {
            (Some(items), _) => self.element(&items, schema, depth),
            (None, Node::Value(Value::Null) | Node::Value(Value::Map(_))) => Err(Unsupported::Computed),
            (None, Node::Value(scalar)) => self.scalar(scalar),
            (None, Node::Template(template)) => self.variable(template),
        }
    }

    /// The list of the item that is the element of the loop.
    fn element(&mut self, items: &[Node<'r>], schema: Schema, depth: usize) -> Done {
        let (Schema::Keyed([key], ty), [item]) = (schema, items) else {
            return Err(Unsupported::ItemsChanged);
        };
        let ([first, others @ ..], false) = (&*self.elements.clone(), self.is_in_list()) else {
            return Err(Unsupported::ItemsChanged);
        };
        let is_among = *first == self.path || others.contains(&self.path);
        let (keys, of) = keyed_at(self.types, self.kind, &self.path).ok_or(Unsupported::ItemsChanged)?;
        if !is_among || *keys != [key.clone()] {
            return Err(Unsupported::ItemsChanged);
        }
        let members = item.members().ok_or(Unsupported::ItemsChanged)?;
        let mut rest = Vec::new();
        let (mut is_named, mut is_conditional) = (false, false);
        for (raw, value) in members {
            let (anchor, name) = Anchor::parse(&raw);
            if *name != **key {
                rest.push((raw, value));
                continue;
            }
            let is_own = matches!(value, Node::Template(Template::Whole(hole))
                if hole.query.expr.as_ref().ok().and_then(in_element) == Some(vec![Step::Key(key.clone())]));
            // Without the anchor elements of other lists become items of this one.
            is_named =
                is_own && (anchor == Anchor::Condition || (anchor == Anchor::None && others.is_empty()));
            if !is_named {
                return Err(Unsupported::ItemsChanged);
            }
            is_conditional = anchor == Anchor::Condition;
            if let Node::Template(Template::Whole(hole)) = value {
                self.holes.push((**hole).clone());
            }
        }
        if !is_named {
            return Err(Unsupported::ItemsChanged);
        }
        // The first item decides about what is added to all of them where no condition comes before
        // it.
        let adds = |(raw, value): &(Str, Node<'_>)| {
            Anchor::parse(raw).0 == Anchor::AddIfAbsent || (!is_conditional && value.adds(0))
        };
        if rest.iter().any(adds) {
            return Err(Unsupported::FirstItemDecides);
        }
        // A name with wildcards is a pattern for the others; so is one that reads as a number.
        if !has_plain_names(&self.path) {
            return Err(Unsupported::WildcardNames);
        }
        self.found.by_pattern |= is_conditional;
        if !others.is_empty() {
            let lists = self.elements.clone();
            self.are_apart(&lists, key);
        }
        self.items(|own| {
            own.add(Written::Shape);
            rest.into_iter().try_for_each(|(raw, value)| {
                let (anchor, name) = Anchor::parse(&raw);
                if name == DIRECTIVE || !matches!(anchor, Anchor::None | Anchor::AddIfAbsent) {
                    return Err(Unsupported::ItemsChanged);
                }
                let name = Str::from(name);
                let (schema, at) = (Schema::of(ty).field(&name), PlaceType::Type(of).field(own.types, &name));
                own.below(&name, |own| own.document(value, schema, at, depth + 2))
            })
        })
    }

    /// A document with variables that is merged into the object, once.
    pub(crate) fn filled(&mut self, document: &'r Template, schema: Schema, at: PlaceType<'r>) -> Done {
        self.found.merges = true;
        self.document(Node::of(document), schema, at, 0)?;
        self.found.holes.append(&mut self.holes);
        Ok(())
    }

    /// What a variable gives, or a text with variables.
    fn variable(&mut self, template: &'r Template) -> Done {
        if let Template::Rounds(rounds) = template {
            return self.computed_in_rounds(rounds);
        }
        self.filled_in(template, CopyKind::Scalar)?;
        self.add(Written::Copied);
        Ok(())
    }

    /// The same, wherever it is written; `whole`: what a variable may give that stands alone.
    pub(crate) fn filled_in(&mut self, template: &'r Template, whole: CopyKind) -> Done {
        match template {
            Template::Whole(hole) => {
                let expr = hole.query.expr.as_ref().map_err(|_| Unsupported::Computed)?;
                if whole == CopyKind::Any && self.is_whole_alone(expr) {
                    return Ok(());
                }
                self.sources(expr, whole, 0)?;
                self.note_hole(expr, (**hole).clone())?;
            }
            Template::Text(text) => {
                for part in &text.parts {
                    let Part::Hole(query) = part else { continue };
                    let expr = query.expr.as_ref().map_err(|_| Unsupported::Computed)?;
                    self.sources(expr, CopyKind::Text, 0)?;
                    self.note_hole(expr, Hole { query: query.clone(), rounds: text.rounds.clone() })?;
                }
            }
            _ => return Err(Unsupported::Computed),
        }
        Ok(())
    }

    /// Notes what a variable reads. Nothing reads a text that joins values, but at the items
    /// that it has them of.
    fn note_hole(&mut self, expr: &'r Expr, hole: Hole) -> Done {
        let expr = self.plain(expr);
        match self.joined_list(expr) {
            // There is one, and nothing else reads it.
            _ if is_user(expr) => {}
            Some(list) => {
                let is_own = !holds(list, &|part| matches!(part, Expr::Local(1..)))
                    && matches!(list, Expr::Project { keep, .. }
                        if keep.as_ref().is_none_or(|keep| !holds(keep, &|part| matches!(part, Expr::Root))));
                self.found.chosen.push((number_of(list, &hole).ok_or(Unsupported::Computed)?, is_own));
            }
            None if holds(expr, &|part| self.joined_list(part).is_some()) => {
                return Err(Unsupported::Computed);
            }
            None => self.holes.push(hole),
        }
        Ok(())
    }
}
