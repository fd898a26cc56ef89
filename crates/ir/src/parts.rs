//! Walking over rules: the only place that knows which parts each of their nodes has.
//!
//! In: a policy, a rule, an exception or a part of one. Out: its nearest [`RulePart`]s, one after
//! the other in the order in which they are declared. A part is a node that analyses distinguish;
//! what lies between is walked through. Every field is spelled out, so a new one does not compile
//! before it is walked. Texts, positions and constants are no parts: who reads them takes them from
//! the node. The parts of an expression are its children ([`super::walk`]).
//!
//! ```
//! use ephor_ir::Expr;
//! use ephor_ir::parts::RulePart;
//!
//! fn reads_root(part: RulePart) -> bool {
//!     let mut found = matches!(part, RulePart::Expr(Expr::Root));
//!     part.parts(&mut |below| found |= reads_root(below));
//!     found
//! }
//! assert!(reads_root(RulePart::Expr(&Expr::Not(Box::new(Expr::Root)))));
//! ```

use std::sync::Arc;

use ephor_value::{Str, stack};

use super::admission::{Bound, ParamRef, PolicyBinding};
use super::binding::{Binding, BindingSource, QuerySource};
use super::cel_exception::CelException;
use super::check::{Check, ForEach, Overlay, Overlays, PodSecurity};
use super::condition::{Condition, Conditions};
use super::constraints::{Constraints, ResourceRule};
use super::expressions::{
    AuditAnnotation, ExpressionPatch, Expressions, Params, Source, Validation, Variable,
};
use super::generate::{Described, Draft, Generation, GenerationLoop, Generator, Place, TextPart};
use super::image_validation::{Attestor, ImageValidation, Reference};
use super::images::{Claim, ImageCheck, ImageChecks};
use super::matcher::{Filter, Matcher};
use super::mutate::{
    Change, ExistingObjects, Json, Layer, Member, Merge, Mutation, MutationTarget, Node, Patch, PatchLoop,
};
use super::pattern::Leaf;
use super::policy::{Exception, KindRules, Policy};
use super::rule::{Action, ActionOverride, Body, Message, Properties};
use super::selector::Selector;
use super::shape::{Entry, ListShape, MapShape, Pattern, Shape};
use super::template::{Hole, Part, Text};
use super::walk::{children, children_mut};
use super::{Expr, Origin, Query, Rule, Template};

/// A part as analyses read it.
type Borrowed<'p, T> = &'p T;
/// A part as a rewriting changes it.
type Mutable<'p, T> = &'p mut T;

/// The parts that are types of their own, and those that share one.
macro_rules! declare {
    (
        $(#[$about:meta])* $part:ident, $has:ident, $each:ident, $of:ident;
        $($doc:literal $name:ident,)* ; $($other_doc:literal $other:ident($type:ident),)*
    ) => {
        $(#[$about])*
        #[derive(Debug)]
        pub enum $part<'p> {
            $(#[doc = $doc] $name($of<'p, $name>),)*
            $(#[doc = $other_doc] $other($of<'p, $type>),)*
        }

        /// A part, or what lies between parts.
        pub trait $has {
            /// Calls `f` with it, or with the nearest parts in it.
            fn $each<'p>(of: $of<'p, Self>, f: &mut dyn FnMut($part<'p>));
        }

        $(impl $has for $name {
            fn $each<'p>(of: $of<'p, Self>, f: &mut dyn FnMut($part<'p>)) {
                f($part::$name(of));
            }
        })*
    };
}

/// Walks through what stands in fields.
macro_rules! each {
    ($has:ident $each:ident $f:ident: $($field:ident),+) => {{ $($has::$each($field, $f);)+ }};
}

/// Structs that are no parts, with the fields that have some.
macro_rules! between {
    ($has:ident $each:ident $of:ident $part:ident;
        $($name:ident as $fields:pat => $($field:ident),+;)*) => {
        $(impl $has for $name {
            fn $each<'p>(of: $of<'p, Self>, f: &mut dyn FnMut($part<'p>)) {
                let $fields = of;
                each!($has $each f: $($field),+);
            }
        })*
    };
}

/// What holds any number of others.
macro_rules! containers {
    ($has:ident $each:ident $of:ident $part:ident; $($name:ty),*) => {
        $(impl<T: $has> $has for $name {
            fn $each<'p>(of: $of<'p, Self>, f: &mut dyn FnMut($part<'p>)) {
                of.into_iter().for_each(|one| T::$each(one, f));
            }
        })*

        impl<T: $has + ?Sized> $has for Box<T> {
            fn $each<'p>(of: $of<'p, Self>, f: &mut dyn FnMut($part<'p>)) {
                T::$each(of, f);
            }
        }

        impl<A: $has, B: $has> $has for (A, B) {
            fn $each<'p>((a, b): $of<'p, Self>, f: &mut dyn FnMut($part<'p>)) {
                A::$each(a, f);
                B::$each(b, f);
            }
        }

        impl $has for Str {
            fn $each<'p>(_: $of<'p, Self>, _: &mut dyn FnMut($part<'p>)) {}
        }
    };
}

/// The walk over shared or mutable parts: one text, so that both agree.
macro_rules! walks {
    ($(#[$about:meta])* $part:ident, $has:ident, $each:ident, $of:ident, $children:ident) => {
        declare! {
            $(#[$about])* $part, $has, $each, $of;
            "A rule." Rule,
            "What binds a rule of Kubernetes' own policies." Bound,
            "Attributes of requests." Filter,
            "Constraints of requests." Constraints,
            "Paths of requests." ResourceRule,
            "Labels." Selector,
            "Another action for some namespaces." ActionOverride,
            "Data under a name." Binding,
            "Where the data of a binding comes from." BindingSource,
            "A query whose text may hold variables." QuerySource,
            "A query." Query,
            "A document to be filled in." Template,
            "Conditions." Conditions,
            "A condition." Condition,
            "What the CEL expressions of a rule share." Expressions,
            "A composed variable." Variable,
            "An expression with its text." Source,
            "A value for the audit log, or for a property of a result." AuditAnnotation,
            "Properties for reports." Properties,
            "The message of a rule." Message,
            "A check." Check,
            "A loop of checks." ForEach,
            "A pattern that may have to be filled in." Overlay,
            "Several of these." Overlays,
            "A pattern of a value." Shape,
            "A pattern of an object." MapShape,
            "A key of one." Entry,
            "A pattern of a scalar." Leaf,
            "Pod Security Standards." PodSecurity,
            "A change of an object." Change,
            "A document to be merged." Merge,
            "A JSON patch." Json,
            "A loop of patches." PatchLoop,
            "Objects to be changed." MutationTarget,
            "A description of objects." Described,
            "A loop of descriptions." GenerationLoop,
            "A place to fill in." Place,
            "What statements about images must say." Claim,
            "An expression." Expr,
            ;
            "What is run instead of a query when the request deletes the object." OnDelete(Query),
            "An expression that words a message." MessageProgram(Expr),
        }

        impl<'p> $part<'p> {
            /// Calls `f` with the nearest parts of a part.
            pub fn parts(self, f: &mut dyn FnMut($part<'p>)) {
                stack::deep(|| match self {
                    $part::Rule(Rule {
                        origin: _, generated: _, name: _, kind: _, when, unless, bindings, admit, expressions,
                        bound, properties, body, broken: _, action,
                    }) => {
                        each!($has $each f: when, unless, bindings, admit, expressions, bound, properties);
                        each!($has $each f: body, action);
                    }
                    $part::Bound(Bound {
                        constraints, param_kind: _, bindings, index: _, is_static: _, server: _, params: _,
                    }) => {
                        each!($has $each f: constraints, bindings);
                    }
                    $part::Filter(Filter {
                        origin: _, operations: _, kinds: _, name: _, names: _, namespaces: _, annotations: _,
                        selector, namespace_selector, roles: _, cluster_roles: _, subjects: _,
                        has_resource: _, has_user: _,
                    }) => each!($has $each f: selector, namespace_selector),
                    $part::Constraints(Constraints {
                        rules, exclude, namespace_selector, object_selector, equivalent: _,
                    }) => each!($has $each f: rules, exclude, namespace_selector, object_selector),
                    $part::ResourceRule(ResourceRule {
                        operations: _, groups: _, versions: _, resources: _, scope: _, names: _,
                    })
                    | $part::Selector(Selector { labels: _, expressions: _, wild: _, valid: _ })
                    | $part::Leaf(Leaf { source: _, any: _ })
                    | $part::PodSecurity(PodSecurity { level: _, version: _, exclude: _, only: _ }) => {}
                    $part::ActionOverride(ActionOverride { action: _, namespaces: _, selector }) => {
                        each!($has $each f: selector);
                    }
                    $part::Binding(Binding { origin: _, name: _, source }) => each!($has $each f: source),
                    $part::BindingSource(source) => match source {
                        BindingSource::Variable { value, query, default, raw: _ } => {
                            each!($has $each f: value, query, default);
                        }
                        BindingSource::ConfigMap { name, namespace, raw: _ } => {
                            each!($has $each f: name, namespace);
                        }
                        BindingSource::ApiCall { call, raw: _ } => each!($has $each f: call),
                        BindingSource::Global { name: _, query } => each!($has $each f: query),
                        BindingSource::Image { reference, credentials: _, query } => {
                            each!($has $each f: reference, query);
                        }
                        BindingSource::Given { answer, query, shown, default: _ } => {
                            each!($has $each f: answer, query, shown);
                        }
                    },
                    $part::QuerySource(QuerySource::Ready(query)) => each!($has $each f: query),
                    $part::QuerySource(QuerySource::Dynamic { text, names: _ }) => each!($has $each f: text),
                    $part::Query(query) | $part::OnDelete(query) => {
                        let Query { sorts: _, text: _, expr, needs: _, on_delete } = query;
                        each!($has $each f: expr);
                        if let Some(query) = on_delete {
                            f($part::OnDelete(query));
                        }
                    }
                    $part::Template(template) => match template {
                        Template::Const(_) | Template::Rounds(_) | Template::Fail(_) => {}
                        Template::Whole(hole) => each!($has $each f: hole),
                        Template::Text(text) => each!($has $each f: text),
                        Template::List(items) => each!($has $each f: items),
                        Template::Object(entries) => each!($has $each f: entries),
                    },
                    $part::Conditions(Conditions { origin: _, any, all, flat: _ }) => {
                        each!($has $each f: any, all);
                    }
                    $part::Condition(Condition { origin: _, key, operator: _, value, prepared: _, message: _ }) => {
                        each!($has $each f: key, value);
                    }
                    $part::Expressions(Expressions {
                        view: _, params, conditions, variables, annotations, failure_policy: _, wording: _,
                        reads_namespace: _,
                    }) => each!($has $each f: params, conditions, variables, annotations),
                    $part::Variable(Variable { origin: _, name: _, program, sharing: _ })
                    | $part::Source(Source { origin: _, text: _, program, sharing: _ }) => {
                        each!($has $each f: program);
                    }
                    $part::AuditAnnotation(AuditAnnotation { key: _, value }) => each!($has $each f: value),
                    $part::Properties(Properties { written: _, template })
                    | $part::Message(Message { origin: _, text: _, template, passed: _, names: _ })
                    | $part::Described(Described { origin: _, template, synchronize: _ }) => {
                        each!($has $each f: template);
                    }
                    $part::Check(check) => match check {
                        Check::Deny(conditions) => each!($has $each f: conditions),
                        Check::Pattern(overlay, _) => each!($has $each f: overlay),
                        Check::AnyPattern(overlays, _) => each!($has $each f: overlays),
                        Check::ForEach(loops) => each!($has $each f: loops),
                        Check::Assert(validations) => each!($has $each f: validations),
                        Check::PodSecurity(controls) => each!($has $each f: controls),
                        Check::Nothing => {}
                    },
                    $part::ForEach(ForEach { origin: _, list, element_scope: _, bindings, admit, check }) => {
                        each!($has $each f: list, bindings, admit, check);
                    }
                    $part::Overlay(Overlay::Ready(pattern)) => each!($has $each f: pattern),
                    $part::Overlays(Overlays::Ready(patterns)) => each!($has $each f: patterns),
                    $part::Overlay(Overlay::Dynamic(template))
                    | $part::Overlays(Overlays::Dynamic(template))
                    | $part::Merge(Merge::Dynamic(template))
                    | $part::Json(Json::Dynamic(template)) => each!($has $each f: template),
                    $part::Overlay(Overlay::Broken(_))
                    | $part::Overlays(Overlays::Broken(_))
                    | $part::Json(Json::Ready(_)) => {}
                    $part::Shape(Shape::Leaf(leaf)) => each!($has $each f: leaf),
                    $part::Shape(Shape::Map(map)) => each!($has $each f: map),
                    $part::Shape(Shape::List(list)) => match list {
                        ListShape::Empty(_) => {}
                        ListShape::Each(map, rest) => each!($has $each f: map, rest),
                        ListShape::Scalars(leaf, rest) => each!($has $each f: leaf, rest),
                        ListShape::Positions(shapes) => each!($has $each f: shapes),
                    },
                    $part::MapShape(MapShape { entries, first: _, expand: _, source: _ }) => {
                        each!($has $each f: entries);
                    }
                    $part::Entry(Entry { key: _, raw: _, anchor: _, counted: _, shape }) => {
                        each!($has $each f: shape);
                    }
                    $part::Change(change) => match change {
                        Change::Patch(Patch::Merge(merge), _) => each!($has $each f: merge),
                        Change::Patch(Patch::Json(json), _) => each!($has $each f: json),
                        Change::Patch(Patch::Empty, _) => {}
                        Change::ForEach(loops) => each!($has $each f: loops),
                        Change::Expressions { patches, replaces_atomic: _, reinvoked: _ } => {
                            each!($has $each f: patches);
                        }
                    },
                    $part::Merge(Merge::Ready(layer)) => each!($has $each f: layer),
                    $part::PatchLoop(PatchLoop { origin: _, list, descending: _, bindings, admit, change }) => {
                        each!($has $each f: list, bindings, admit, change);
                    }
                    $part::MutationTarget(MutationTarget { origin: _, wanted, bindings, admit }) => {
                        each!($has $each f: wanted, bindings, admit);
                    }
                    $part::GenerationLoop(GenerationLoop { origin: _, list, bindings, admit, described }) => {
                        each!($has $each f: list, bindings, admit, described);
                    }
                    $part::Place(Place { text: _, program }) => each!($has $each f: program),
                    $part::Claim(Claim { name: _, blocks, text }) => each!($has $each f: blocks, text),
                    $part::MessageProgram(expr) => f($part::Expr(expr)),
                    $part::Expr(expr) => $children(expr, &mut |e, _| f($part::Expr(e))),
                });
            }
        }

        between! { $has $each $of $part;
            Policy as Policy {
                api: _, short_name: _, name: _, namespace: _, annotations: _, reported: _, apply_one: _,
                background: _, admission: _, action: _, overrides, failure_policy: _, actions: _, stage: _,
                scope: _, report: _, admit, rules, by_kind, rule_count: _, rule_names: _,
            } => overrides, admit, rules, by_kind;
            KindRules as KindRules { kinds: _, rules } => rules;
            Exception as Exception { name: _, key: _, covers: _, when, admit, pod_security: _ } => when, admit;
            CelException as CelException {
                key: _, name: _, policies: _, admit, images: _, values: _, passes: _, priority: _, expires: _,
            } => admit;
            PolicyBinding as PolicyBinding { mutates: _, name: _, policy: _, params, when, actions: _ } => params, when;
            ParamRef as ParamRef { name: _, namespace: _, selector, must_exist: _ } => selector;
            Params as Params {
                api_version: _, kind: _, name: _, selector, namespace: _, must_exist: _,
            } => selector;
            Action as Action { rule: _, overrides, allow_existing: _ } => overrides;
            Hole as Hole { query, rounds: _ } => query;
            Text as Text { parts, rounds: _ } => parts;
            Pattern as Pattern { source: _, root, anchors: _ } => root;
            Mutation as Mutation { change, other_templates, targets, existing } => change, other_templates, targets, existing;
            ExistingObjects as ExistingObjects { rule, returned_by, others: _ } => rule, returned_by;
            ExpressionPatch as ExpressionPatch { patch_type: _, source } => source;
            Member as Member { key: _, raw: _, anchor: _, test, value } => test, value;
            ImageChecks as ImageChecks { entries, extractors: _, verification } => entries, verification;
            ImageCheck as ImageCheck {
                references: _, skipped: _, attested: _, mutate_digest: _, verify_digest: _, required: _, claims, deny,
            } => claims, deny;
            ImageValidation as ImageValidation {
                credentials: _, references, extractors, attestors, attestations: _, verify_digest: _,
                required: _, validations,
            } => references, extractors, attestors, validations;
            Attestor as Attestor { name: _, written: _, computed } => computed;
        }

        containers! { $has $each $of $part; Option<T>, Vec<T>, [T], Result<T, Str> }

        impl $has for Matcher {
            fn $each<'p>(of: $of<'p, Self>, f: &mut dyn FnMut($part<'p>)) {
                match of {
                    Matcher::Any(filters) | Matcher::All(filters) => each!($has $each f: filters),
                    Matcher::Constraints(constraints) => each!($has $each f: constraints),
                }
            }
        }

        impl $has for Body {
            fn $each<'p>(of: $of<'p, Self>, f: &mut dyn FnMut($part<'p>)) {
                match of {
                    Body::Validate { check, message } => each!($has $each f: check, message),
                    Body::Mutate(mutation) => each!($has $each f: mutation),
                    Body::Generate(generation) => each!($has $each f: generation),
                    Body::Answer(programs) => each!($has $each f: programs),
                    Body::ValidateImages(validation) => each!($has $each f: validation),
                    Body::VerifyImages(checks) => each!($has $each f: checks),
                    // Keys and fields of manifests are all constant.
                    Body::Delete | Body::Manifests(_) => {}
                }
            }
        }

        impl $has for Validation {
            fn $each<'p>(of: $of<'p, Self>, f: &mut dyn FnMut($part<'p>)) {
                let Validation { check, message: _, message_program, reason: _ } = of;
                each!($has $each f: check);
                if let Some(Ok(program)) = message_program {
                    f($part::MessageProgram(program));
                }
            }
        }

        impl $has for Layer {
            fn $each<'p>(of: $of<'p, Self>, f: &mut dyn FnMut($part<'p>)) {
                match of {
                    Layer::Plain(_) => {}
                    Layer::Anchored(node) => each!($has $each f: node),
                }
            }
        }

        impl $has for Node {
            fn $each<'p>(of: $of<'p, Self>, f: &mut dyn FnMut($part<'p>)) {
                match of {
                    Node::Scalar(_) => {}
                    Node::List(items) => each!($has $each f: items),
                    Node::Map(members) => each!($has $each f: members),
                }
            }
        }

        impl $has for Generation {
            fn $each<'p>(of: $of<'p, Self>, f: &mut dyn FnMut($part<'p>)) {
                match of {
                    Generation::One(described) => each!($has $each f: described),
                    Generation::ForEach(loops) => each!($has $each f: loops),
                    Generation::Expressions(generators) => each!($has $each f: generators),
                }
            }
        }

        impl $has for Generator {
            fn $each<'p>(of: $of<'p, Self>, f: &mut dyn FnMut($part<'p>)) {
                match of {
                    Generator::Expression(program) => each!($has $each f: program),
                    Generator::Documents(drafts) => each!($has $each f: drafts),
                }
            }
        }

        impl $has for Draft {
            fn $each<'p>(of: $of<'p, Self>, f: &mut dyn FnMut($part<'p>)) {
                match of {
                    Draft::Ready(_) => {}
                    Draft::Whole(place) => each!($has $each f: place),
                    Draft::Text(parts) => each!($has $each f: parts),
                    Draft::List(items) => each!($has $each f: items),
                    Draft::Map(entries) => each!($has $each f: entries),
                }
            }
        }

        impl $has for TextPart {
            fn $each<'p>(of: $of<'p, Self>, f: &mut dyn FnMut($part<'p>)) {
                match of {
                    TextPart::Literal(_) => {}
                    TextPart::Place(place) => each!($has $each f: place),
                }
            }
        }

        impl $has for Reference {
            fn $each<'p>(of: $of<'p, Self>, f: &mut dyn FnMut($part<'p>)) {
                match of {
                    Reference::Pattern(_) => {}
                    Reference::Expression(program) => each!($has $each f: program),
                }
            }
        }

        impl $has for Part {
            fn $each<'p>(of: $of<'p, Self>, f: &mut dyn FnMut($part<'p>)) {
                match of {
                    Part::Literal(_) => {}
                    Part::Hole(query) => each!($has $each f: query),
                }
            }
        }
    };
}

walks! {
    /// A part that is read.
    #[derive(Clone, Copy)]
    RulePart, HasParts, each, Borrowed, children
}

walks! {
    /// A part that may be changed.
    RulePartMut, HasPartsMut, each_mut, Mutable, children_mut
}

impl<'p> RulePart<'p> {
    /// Whether some of the nearest parts of a part satisfies `test`.
    pub fn any(self, test: &mut dyn FnMut(RulePart<'p>) -> bool) -> bool {
        let mut found = false;
        self.parts(&mut |below| found = found || test(below));
        found
    }

    /// Where a part came from, where it says so.
    pub fn origin(self) -> Option<&'p Origin> {
        use RulePart::*;
        Some(match self {
            Rule(part) => &part.origin,
            Filter(part) => &part.origin,
            Binding(part) => &part.origin,
            Conditions(part) => &part.origin,
            Condition(part) => &part.origin,
            Variable(part) => &part.origin,
            Source(part) => &part.origin,
            Message(part) => &part.origin,
            ForEach(part) => &part.origin,
            PatchLoop(part) => &part.origin,
            MutationTarget(part) => &part.origin,
            Described(part) => &part.origin,
            GenerationLoop(part) => &part.origin,
            Check(crate::check::Check::Pattern(_, origin) | crate::check::Check::AnyPattern(_, origin)) => {
                origin
            }
            Change(super::mutate::Change::Patch(_, origin)) => origin,
            Bound(_) | Constraints(_) | ResourceRule(_) | Selector(_) | ActionOverride(_)
            | BindingSource(_) | QuerySource(_) | Query(_) | Template(_) | Expressions(_)
            | AuditAnnotation(_) | Properties(_) | Check(_) | Overlay(_) | Overlays(_) | Shape(_)
            | MapShape(_) | Entry(_) | Leaf(_) | PodSecurity(_) | Change(_) | Merge(_) | Json(_)
            | Place(_) | Claim(_) | Expr(_) | OnDelete(_) | MessageProgram(_) => return None,
        })
    }
}

impl<T: HasParts + ?Sized> HasParts for Arc<T> {
    fn each<'p>(of: &'p Self, f: &mut dyn FnMut(RulePart<'p>)) {
        T::each(of, f);
    }
}

impl<T: HasPartsMut + Clone> HasPartsMut for Arc<T> {
    fn each_mut<'p>(of: &'p mut Self, f: &mut dyn FnMut(RulePartMut<'p>)) {
        T::each_mut(Arc::make_mut(of), f);
    }
}

impl<T: HasPartsMut + Clone> HasPartsMut for Arc<[T]> {
    fn each_mut<'p>(of: &'p mut Self, f: &mut dyn FnMut(RulePartMut<'p>)) {
        <[T]>::each_mut(Arc::make_mut(of), f);
    }
}
