//! What rules generate.
//!
//! In: a rule that generates objects. Out: the places of the object of the request whose values are
//! copied into these, alone or as parts of texts, and what decides between them. Nothing is written
//! into the object itself.

use ephor_ir::Template;
use ephor_ir::generate::{Described, Draft, Generation, Generator, Place, TextPart};
use ephor_value::{Str, Value};

use crate::effects::writes::model::{CopyKind, Done, WriteCollector};
use crate::inputs::copied_objects::{constant, copied_by};
use crate::model::limits::MAX_WRITE_DEPTH;
use crate::model::unsupported::Unsupported;

/// What a document says which object it is, where that is constant.
fn identity(draft: &Draft) -> [Option<Str>; 3] {
    let text = |value: &Value| value.as_str().map(Str::from);
    let member = |draft: &Draft, name: &str| match draft {
        Draft::Ready(value) => value.get(name).and_then(text),
        Draft::Map(members) => {
            let mut own = members.iter().filter(|(key, _)| **key == *name);
            match own.next() {
                Some((_, Draft::Ready(value))) => text(value),
                _ => None,
            }
        }
        _ => None,
    };
    let metadata = match draft {
        Draft::Map(members) => {
            members.iter().find(|(key, _)| **key == *"metadata").map(|(_, below)| below.clone())
        }
        Draft::Ready(value) => value.get("metadata").cloned().map(Draft::Ready),
        _ => None,
    };
    let of_metadata = |name: &str| metadata.as_ref().and_then(|metadata| member(metadata, name));
    [member(draft, "kind"), of_metadata("namespace"), of_metadata("name")]
}

impl<'r> WriteCollector<'r> {
    /// What a rule generates.
    pub(crate) fn generation(&mut self, generation: &'r Generation) -> Done {
        match generation {
            Generation::One(described) => {
                self.described(described)?;
                self.found.holes.append(&mut self.holes);
                Ok(())
            }
            Generation::ForEach(_) => Err(Unsupported::GeneratedInLoops),
            Generation::Expressions(all) => all.iter().try_for_each(|one| match one {
                Generator::Documents(drafts) => drafts.iter().try_for_each(|draft| {
                    self.found.generated.push(Some(identity(draft)));
                    self.draft(draft, 0)
                }),
                Generator::Expression(program) => {
                    self.applied_copies(program.as_ref().map_err(|_| Unsupported::Computed)?, 0)
                }
            }),
        }
    }

    /// A description of one object: what identifies it, and its data or the object that it is a
    /// copy of.
    fn described(&mut self, described: &'r Described) -> Done {
        let text =
            |name: &str| constant(&described.template, name).and_then(|value| value.as_str().map(Str::from));
        let is_list = constant(&described.template, "cloneList").is_some();
        self.found.generated.push((!is_list).then(|| ["kind", "namespace", "name"].map(text)));
        match copied_by(described)? {
            none if none.is_empty() => self.part(&described.template, 0),
            copied => self.cloned(described, copied),
        }
    }

    pub(crate) fn part(&mut self, template: &'r Template, depth: usize) -> Done {
        if depth > MAX_WRITE_DEPTH {
            return Err(Unsupported::TooDeep);
        }
        match template {
            Template::Const(_) => Ok(()),
            Template::List(items) => items.iter().try_for_each(|item| self.part(item, depth + 1)),
            Template::Object(pairs) => pairs.iter().try_for_each(|(key, value)| {
                key.as_const().ok_or(Unsupported::Computed)?;
                self.part(value, depth + 1)
            }),
            Template::Whole(_) | Template::Text(_) => self.filled_in(template, CopyKind::Any),
            Template::Rounds(_) | Template::Fail(_) => Err(Unsupported::Computed),
        }
    }

    /// A document with places to be filled in.
    fn draft(&mut self, draft: &'r Draft, depth: usize) -> Done {
        if depth > MAX_WRITE_DEPTH {
            return Err(Unsupported::TooDeep);
        }
        match draft {
            Draft::Ready(_) => Ok(()),
            Draft::Whole(place) => self.place(place, CopyKind::Any),
            Draft::Text(parts) => parts.iter().try_for_each(|part| match part {
                TextPart::Literal(_) => Ok(()),
                TextPart::Place(place) => self.place(place, CopyKind::Text),
            }),
            Draft::List(items) => items.iter().try_for_each(|item| self.draft(item, depth + 1)),
            Draft::Map(members) => members.iter().try_for_each(|(_, value)| self.draft(value, depth + 1)),
        }
    }

    fn place(&mut self, place: &'r Place, wanted: CopyKind) -> Done {
        let program = place.program.as_ref().map_err(|_| Unsupported::Computed)?;
        self.taken(program, wanted)
    }
}
