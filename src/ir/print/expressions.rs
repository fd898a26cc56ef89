//! What the CEL expressions of a rule share, and the bodies that they are in.

use super::expr::expression;
use super::{Node, literal, quoted};
use crate::ir::expressions::{
    AuditAnnotation, ExpressionPatch, Expressions, PatchType, Program, Proxy, Source, Validation, Variable,
    View,
};
use crate::ir::generate::{Draft, Generator, TextPart};
use crate::ir::image_validation::{ImageValidation, Reference};
use crate::value::Str;
use crate::value::place::parse;

pub fn program(p: &Program) -> Node {
    match p {
        Ok(expr) => expression(expr),
        Err(text) => Node::new(format!("broken {}", quoted(text))),
    }
}

fn source(s: &Source) -> Node {
    program(&s.program).at(parse(&s.origin.path))
}

/// What the expressions of a rule share.
pub fn expressions(e: &Expressions) -> Node {
    let view = match e.view {
        View::Rule => "of the rule",
        View::Request => "of the request",
        View::Payload => "of the payload",
        View::AdmissionRequest => "of the admission request",
        View::PodTemplates => "of each pod template",
        View::CheckRequest(Proxy::Http) => "of the HTTP request",
        View::CheckRequest(Proxy::Envoy) => "of the Envoy request",
    };
    let mut node = Node::new(format!("expressions {view}, worded as for {}", e.wording.name));
    if !e.failure_policy.is_fail() {
        node.below.push(Node::new("errors of conditions are ignored"));
    }
    if let Some(params) = &e.params {
        let which = if params.selector.is_some() { "by labels".into() } else { quoted(&params.name) };
        node.below.push(Node::new(format!("params: {} {} {which}", params.api_version, params.kind)));
    }
    node.below.extend(e.conditions.iter().map(|s| source(s).labelled("condition")));
    let variable = |v: &Variable| {
        program(&v.program).labelled(&format!("variable {}", quoted(&v.name))).at(parse(&v.origin.path))
    };
    node.below.extend(e.variables.iter().map(variable));
    node.below.extend(e.annotations.iter().map(annotation));
    node
}

/// A validation.
pub fn validation(v: &Validation) -> Node {
    let mut node = source(&v.check).labelled("assert");
    node.below.extend(v.message_program.as_ref().map(|p| program(p).labelled("message")));
    if !v.message.is_empty() {
        node.below.push(Node::new(format!("message {}", quoted(&v.message))));
    }
    if !v.reason.is_empty() {
        node.below.push(Node::new(format!("reason: {}", v.reason)));
    }
    node
}

/// An audit annotation.
fn annotation(a: &AuditAnnotation) -> Node {
    source(&a.value).labelled(&format!("annotation {}", quoted(&a.key)))
}

/// A patch.
pub fn patch(p: &ExpressionPatch) -> Node {
    source(&p.source).labelled(match p.patch_type {
        PatchType::ApplyConfiguration => "apply",
        PatchType::JsonPatch => "patch",
        PatchType::Unknown => "unknown patch",
    })
}

/// What is generated.
pub fn generator(g: &Generator) -> Node {
    match g {
        Generator::Expression(p) => program(p).labelled("generate"),
        Generator::Documents(documents) => Node::new("generate").with(documents.iter().map(draft)),
    }
}

fn draft(d: &Draft) -> Node {
    match d {
        Draft::Ready(v) => Node::new(literal(v)),
        Draft::Whole(place) => program(&place.program),
        Draft::Text(parts) => Node::new("text").with(parts.iter().map(|part| match part {
            TextPart::Literal(text) => Node::new(quoted(text)),
            TextPart::Place(place) => program(&place.program),
        })),
        Draft::List(items) => Node::new("list").with(items.iter().map(draft)),
        Draft::Map(entries) => Node::new("object").with(entries.iter().map(|(k, v)| draft(v).labelled(k))),
    }
}

/// Validations of images.
pub fn image_validation(images: &Result<ImageValidation, Str>) -> Node {
    let mut node = Node::new("validate images");
    match images {
        Err(text) => node.below.push(Node::new(format!("broken {}", quoted(text)))),
        Ok(images) => {
            node.below.extend(images.references.iter().map(|r| match r {
                Reference::Pattern(p) => Node::new(format!("images {}", quoted(p.0.as_str()))),
                Reference::Expression(p) => program(p).labelled("images"),
            }));
            let lists = images.extractors.iter();
            node.below.extend(lists.map(|(k, p)| program(p).labelled(&format!("images {}", quoted(k)))));
            node.below.extend(images.validations.iter().map(validation));
        }
    }
    node
}
