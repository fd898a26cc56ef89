//! Values that functions make of others.
//!
//! In: a place that is copied, and the steps that are done to its value. Out: [`DerivedValue`],
//! which two sides compare: the same function of the same place gives the same value.

use ephor_analysis::reads::Step;
use ephor_external::reference;
use ephor_functions::regex::go_regex;
use ephor_value::image::ImageRef;
use ephor_value::{Str, Value};

/// A part of what takes the place of a match.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    Group(usize),
}

/// A part of a text that is put together of a name of an image.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TextPart {
    Text(Str),
    Image(ImagePart),
}

/// What is done to a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Function {
    /// Each match becomes another text.
    Matches { pattern: Str, with: Vec<Piece> },
    /// Each occurrence of a text that is not empty becomes another one.
    Occurrences { of: Str, with: Str },
    /// Parts of the name of an image, with other texts.
    Parts(Vec<TextPart>),
}

/// What a function makes of the text at a place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DerivedValue {
    /// The place.
    pub of: Vec<Step>,
    pub(crate) function: Function,
}

impl DerivedValue {
    /// What it makes of a text.
    pub fn made(&self, text: &str) -> Option<String> {
        match &self.function {
            Function::Occurrences { of, with } => Some(text.replace(&**of, with)),
            Function::Parts(parts) => {
                let part = |part: &TextPart| match part {
                    TextPart::Text(text) => Some(text.to_string()),
                    TextPart::Image(part) => part.of(text),
                };
                parts.iter().map(part).collect()
            }
            Function::Matches { pattern, with } => {
                let pattern = go_regex(pattern).ok()?;
                let mut out = String::new();
                let mut end = 0;
                for found in pattern.captures_iter(text) {
                    let whole = found.get(0)?;
                    out.push_str(text.get(end..whole.start())?);
                    for piece in with {
                        out.push_str(match piece {
                            Piece::Text(text) => text,
                            Piece::Group(group) => found.get(*group).map_or("", |part| part.as_str()),
                        });
                    }
                    end = whole.end();
                }
                out.push_str(text.get(end..)?);
                Some(out)
            }
        }
    }
}

impl DerivedValue {
    /// A text with another one in it that the function changes; the other one if it knows none.
    pub fn changed(&self, text: &str) -> String {
        let before = match &self.function {
            Function::Occurrences { of, .. } => [of, "", ""],
            Function::Parts(_) => [""; 3],
            Function::Matches { .. } => ["", "docker.io/", "docker.io/library/"],
        };
        let mut all = before.iter().map(|before| format!("{before}{text}"));
        all.find(|one| self.made(one).is_some_and(|made| made != *one)).unwrap_or_else(|| text.to_string())
    }

    /// Whether an object has what it takes: a name of an image, where it wants one.
    pub fn takes(&self, object: &Value) -> bool {
        let mut texts = Vec::new();
        if matches!(self.function, Function::Parts(_)) {
            texts_at(object, &self.of, &mut texts);
        }
        texts.into_iter().all(is_image)
    }

    /// Whether it takes names of images.
    pub fn is_of_image(&self) -> bool {
        matches!(self.function, Function::Parts(_))
    }

    /// Whether it is seen in an object where the function has written: what it makes of a text is
    /// not there already.
    pub fn shows(&self, place: &[Step], object: &Value) -> bool {
        let mut known = Vec::new();
        texts_at(object, &self.of, &mut known);
        let sources = known.len();
        texts_at(object, place, &mut known);
        let mut all = known.iter().take(sources).filter(|text| !text.is_empty());
        all.all(|text| self.made(text).is_some_and(|made| !made.is_empty() && !known.contains(&&*made)))
    }
}

/// The texts at a place.
pub(crate) fn texts_at<'v>(value: &'v Value, place: &[Step], out: &mut Vec<&'v str>) {
    match (place.split_first(), value) {
        (None, Value::Str(text)) => out.push(text),
        (Some((Step::Key(key), rest)), Value::Map(map)) => {
            if let Some(below) = map.get(key) {
                texts_at(below, rest, out);
            }
        }
        (Some((Step::Items, rest)), Value::List(items)) => {
            items.iter().for_each(|item| texts_at(item, rest, out));
        }
        _ => {}
    }
}

/// The folder of the images that Docker Hub has of its own.
pub(crate) const FOLDER: &str = "library/";

/// A part of the name of an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ImagePart {
    Path,
    /// The tag; a name without one has none, whatever reads it.
    Tag,
    Digest,
    /// The same in CEL, where a name without one has an empty text.
    TagOrEmpty,
    DigestOrEmpty,
}

impl ImagePart {
    pub(crate) fn named(name: &str) -> Option<ImagePart> {
        Some(match name {
            "path" => ImagePart::Path,
            "tag" => ImagePart::Tag,
            "digest" => ImagePart::Digest,
            _ => return None,
        })
    }

    /// The part of a name; `None`: it is none of an image.
    pub(crate) fn of(self, name: &str) -> Option<String> {
        let image = parsed(name)?;
        Some(match self {
            ImagePart::Path => image.path,
            ImagePart::Tag => Some(image.tag).filter(|tag| !tag.is_empty())?,
            ImagePart::Digest => Some(image.digest).filter(|digest| !digest.is_empty())?,
            ImagePart::TagOrEmpty => image.tag,
            ImagePart::DigestOrEmpty => image.digest,
        })
    }
}

pub(crate) fn parsed(name: &str) -> Option<ImageRef> {
    ImageRef::parse(name, "docker.io", true).ok().filter(|_| is_image(name))
}

/// Whether a text is the name of an image in both languages.
pub(crate) fn is_image(text: &str) -> bool {
    ImageRef::parse(text, "docker.io", true).is_ok() && reference::parse(text).is_some()
}
