//! DER as Go's `encoding/asn1` reads it into typed structures, with its error texts.
//!
//! In: bytes. Out: the content of fields that must have a type, or what is wrong with the first
//! that has not. Elements are those of [`super::der`]. Certificate requests are read this way;
//! certificates are not, and their texts are others. What follows the last field of a structure
//! does not count.

use super::der::{self, BOOLEAN, Element, Head, OCTET_STRING, Reader, SEQUENCE, SET};
use super::error::TagMismatch;
use super::{CertificateError, Parsed};

/// A type of Go, as far as its fields are distinguished.
#[derive(Clone, Copy)]
pub(super) struct Type {
    name: &'static str,
    tag: u8,
}

pub(super) const INT: Type = Type { name: "int", tag: der::INTEGER };
pub(super) const BIT_STRING: Type = Type { name: "BitString", tag: der::BIT_STRING };
pub(super) const BYTES: Type = Type { name: "", tag: OCTET_STRING };
pub(super) const OID: Type = Type { name: "ObjectIdentifier", tag: der::OID };
pub(super) const RDN: Type = Type { name: "RelativeDistinguishedNameSET", tag: SET };
/// A list without a name of its own.
pub(super) const LIST: Type = structure("");
/// A list of attributes.
pub(super) const ATTRIBUTES: Type = Type { name: "", tag: 0xa0 };
/// A set without a name of its own.
pub(super) const VALUES: Type = Type { name: "", tag: SET };

/// A structure of this name.
pub(super) const fn structure(name: &'static str) -> Type {
    Type { name, tag: SEQUENCE }
}

/// The fields of a structure.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    rest: Reader<'a>,
    /// The length of all of them.
    length: usize,
}

impl<'a> Fields<'a> {
    /// Of some content.
    pub fn of(bytes: &'a [u8]) -> Fields<'a> {
        Fields { rest: Reader(bytes), length: bytes.len() }
    }

    /// Whether all fields were read.
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next field, once its head is as it must be; `cut` = the error where it is not whole.
    fn element(
        &mut self,
        cut: der::DerError,
        check: impl Fn(Head, usize) -> Parsed<()>,
    ) -> Parsed<Element<'a>> {
        let from = self.rest;
        let head = self.rest.head()?;
        check(head, self.length - self.rest.0.len())?;
        Ok(self.rest.content(from, head, cut)?)
    }

    /// The next field, whatever it is.
    pub fn any(&mut self) -> Parsed<Element<'a>> {
        self.element(der::DerError::Truncated, |_, _| Ok(()))
    }

    /// The next field of any type, if there is one.
    pub fn optional(&mut self) -> Parsed<Option<Element<'a>>> {
        if self.is_at_end() { Ok(None) } else { self.any().map(Some) }
    }

    /// The next field, which must have a type.
    pub fn field(&mut self, of: Type) -> Parsed<Element<'a>> {
        self.element(der::DerError::Truncated, |head, at| {
            if head.tag == of.tag {
                return Ok(());
            }
            // The reference shows where it keeps the tag of a context, another place each time.
            let own = if of.tag & 0x80 == 0 { "<nil>" } else { "0x0" };
            Err(CertificateError::Tag(Box::new(TagMismatch {
                wanted: of.tag & 0x1f,
                class: head.tag >> 6,
                number: head.number,
                length: head.length,
                compound: head.tag & 0x20 != 0,
                own,
                set: of.tag == SET && of.name.is_empty(),
                name: of.name,
                at,
            })))
        })
    }

    /// The next field if it is a truth value.
    pub fn optional_flag(&mut self) -> Parsed<bool> {
        if self.is_at_end() {
            return Ok(false);
        }
        let mut ahead = *self;
        if ahead.rest.head()?.tag != BOOLEAN {
            return Ok(false);
        }
        Ok(der::flag(self.any()?.body)?)
    }
}

/// The items of a list, which must all have a type; `None` = any.
pub(super) fn items(bytes: &[u8], of: Option<Type>) -> Parsed<Vec<Element<'_>>> {
    let mut all = Fields::of(bytes);
    let mut found = Vec::new();
    while !all.is_at_end() {
        let item = all.element(der::DerError::TruncatedSequence, |head, _| match of {
            Some(of) if head.tag != of.tag => Err(CertificateError::ItemTag),
            _ => Ok(()),
        });
        found.push(item?);
    }
    Ok(found)
}
