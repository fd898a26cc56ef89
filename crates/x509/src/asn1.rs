//! DER as Go's `encoding/asn1` reads it into typed structures, with its error texts.
//!
//! In: bytes. Out: the content of fields that must have a type, or what is wrong with the first that has not.
//! Certificate requests are read this way; certificates are not, and their texts are others. What
//! follows the last field of a structure does not count.

use super::Parsed;

/// A type of Go, as far as its fields are distinguished.
#[derive(Clone, Copy)]
pub(super) struct Type {
    name: &'static str,
    tag: u8,
    compound: bool,
}

pub(super) const INT: Type = Type { name: "int", tag: 2, compound: false };
pub(super) const BIT_STRING: Type = Type { name: "BitString", tag: 3, compound: false };
pub(super) const BYTES: Type = Type { name: "", tag: 4, compound: false };
pub(super) const OID: Type = Type { name: "ObjectIdentifier", tag: 6, compound: false };
pub(super) const RDN: Type = Type { name: "RelativeDistinguishedNameSET", tag: 17, compound: true };
/// A list without a name of its own.
pub(super) const LIST: Type = structure("");
const BOOLEAN: u8 = 1;
const SET: u8 = 17;

/// A structure of this name.
pub(super) const fn structure(name: &'static str) -> Type {
    Type { name, tag: 16, compound: true }
}

fn syntax<T>(text: &str) -> Parsed<T> {
    Err(format!("asn1: syntax error: {text}"))
}

fn misshapen<T>(text: impl AsRef<str>) -> Parsed<T> {
    Err(format!("asn1: structure error: {}", text.as_ref()))
}

/// What stands before the content of an element.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub class: u8,
    pub tag: u64,
    pub compound: bool,
    length: usize,
}

/// An element.
#[derive(Clone, Copy)]
pub(super) struct Element<'a> {
    pub head: Head,
    pub body: &'a [u8],
    /// Head and content.
    pub raw: &'a [u8],
}

/// The fields of a structure.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// Of some content.
    pub fn of(bytes: &'a [u8]) -> Fields<'a> {
        Fields { bytes, at: 0 }
    }

    /// What follows the fields that were read.
    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied()?;
        self.at += 1;
        Some(byte)
    }

    fn head(&mut self) -> Parsed<Head> {
        const CUT: &str = "truncated tag or length";
        let Some(first) = self.byte() else { return syntax("sequence truncated") };
        let mut tag = u64::from(first & 0x1f);
        if tag == 0x1f {
            tag = self.base_128()?;
            if tag < 0x1f {
                return syntax("non-minimal tag");
            }
        }
        let Some(size) = self.byte() else { return syntax(CUT) };
        let mut length = usize::from(size & 0x7f);
        if size & 0x80 != 0 {
            if length == 0 {
                return syntax("indefinite length found (not DER)");
            }
            let digits = std::mem::take(&mut length);
            for _ in 0..digits {
                let Some(digit) = self.byte() else { return syntax(CUT) };
                if length >= 1 << 23 {
                    return misshapen("length too large");
                }
                length = length << 8 | usize::from(digit);
                if length == 0 {
                    return misshapen("superfluous leading zeros in length");
                }
            }
            if length < 0x80 {
                return misshapen("non-minimal length");
            }
        }
        Ok(Head { class: first >> 6, tag, compound: first & 0x20 != 0, length })
    }

    fn base_128(&mut self) -> Parsed<u64> {
        let mut number = 0u64;
        for place in 0.. {
            let Some(byte) = self.byte() else { break };
            if place == 5 {
                return misshapen("base 128 integer too large");
            }
            if place == 0 && byte == 0x80 {
                return syntax("integer is not minimally encoded");
            }
            number = number << 7 | u64::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return match i32::try_from(number) {
                    Ok(_) => Ok(number),
                    Err(_) => misshapen("base 128 integer too large"),
                };
            }
        }
        syntax("truncated base 128 integer")
    }

    fn content(&mut self, head: Head, from: usize, cut: &str) -> Parsed<Element<'a>> {
        let end = self.at.saturating_add(head.length);
        let (Some(body), Some(raw)) = (self.bytes.get(self.at..end), self.bytes.get(from..end)) else {
            return syntax(cut);
        };
        self.at = end;
        Ok(Element { head, body, raw })
    }

    /// The next field, whatever it is.
    pub fn any(&mut self) -> Parsed<Element<'a>> {
        let from = self.at;
        let head = self.head()?;
        self.content(head, from, "data truncated")
    }

    /// The next field of any type, if there is one.
    pub fn optional(&mut self) -> Parsed<Option<Element<'a>>> {
        if self.is_at_end() { Ok(None) } else { self.any().map(Some) }
    }

    /// The next field, which must have a type.
    pub fn field(&mut self, of: Type) -> Parsed<Element<'a>> {
        self.matching((0, of.tag, of.compound), of.name, "tag:<nil>")
    }

    /// The next field, which must be a list with this tag of its context.
    pub fn list_tagged(&mut self, tag: u8) -> Parsed<Element<'a>> {
        // The reference shows where it keeps the tag, another place each time.
        self.matching((2, tag, true), "", "tag:0x0")
    }

    /// The next field, a set.
    pub fn set(&mut self) -> Parsed<Element<'a>> {
        self.matching((0, SET, true), "", "tag:<nil>")
    }

    fn matching(
        &mut self,
        (class, tag, compound): (u8, u8, bool),
        name: &str,
        own: &str,
    ) -> Parsed<Element<'a>> {
        let from = self.at;
        let head = self.head()?;
        if (head.class, head.tag, head.compound) != (class, u64::from(tag), compound) {
            return misshapen(format!(
                "tags don't match ({tag} vs {{class:{} tag:{} length:{} isCompound:{}}}) {{optional:false \
                 explicit:false application:false private:false defaultValue:<nil> {own} stringType:0 \
                 timeType:0 set:{} omitEmpty:false}} {name} @{}",
                head.class,
                head.tag,
                head.length,
                head.compound,
                tag == SET && name.is_empty(),
                self.at
            ));
        }
        self.content(head, from, "data truncated")
    }

    /// The next field if it is a truth value.
    pub fn optional_flag(&mut self) -> Parsed<bool> {
        if self.is_at_end() {
            return Ok(false);
        }
        let mut ahead = *self;
        let from = ahead.at;
        let head = ahead.head()?;
        if (head.class, head.tag, head.compound) != (0, u64::from(BOOLEAN), false) {
            return Ok(false);
        }
        let value = flag(ahead.content(head, from, "data truncated")?.body);
        *self = ahead;
        value
    }
}

/// The items of a list, which must all have a type; `None` = any.
pub(super) fn items(bytes: &[u8], of: Option<Type>) -> Parsed<Vec<Element<'_>>> {
    let mut all = Fields::of(bytes);
    let mut found = Vec::new();
    while !all.is_at_end() {
        let from = all.at;
        let head = all.head()?;
        if let Some(of) = of
            && (head.class, head.tag, head.compound) != (0, u64::from(of.tag), of.compound)
        {
            return misshapen("sequence tag mismatch");
        }
        found.push(all.content(head, from, "truncated sequence")?);
    }
    Ok(found)
}

/// A truth value.
pub(super) fn flag(body: &[u8]) -> Parsed<bool> {
    match body {
        [0] => Ok(false),
        [0xff] => Ok(true),
        _ => syntax("invalid boolean"),
    }
}

/// A signed integer of at most 64 bits.
pub(super) fn int(body: &[u8]) -> Parsed<i64> {
    match body {
        [] => return misshapen("empty integer"),
        [0, next, ..] if next & 0x80 == 0 => return misshapen("integer not minimally-encoded"),
        [0xff, next, ..] if next & 0x80 != 0 => return misshapen("integer not minimally-encoded"),
        _ if body.len() > 8 => return misshapen("integer too large"),
        _ => {}
    }
    let sign = if body.first().is_some_and(|b| b & 0x80 != 0) { -1 } else { 0 };
    Ok(body.iter().fold(sign, |n, b| n << 8 | i64::from(*b)))
}

/// The bytes of a bit string.
pub(super) fn bits(body: &[u8]) -> Parsed<&[u8]> {
    let Some((padding, bytes)) = body.split_first() else { return syntax("zero length BIT STRING") };
    let last = bytes.last().copied().unwrap_or(0);
    if *padding > 7 || (bytes.is_empty() && *padding > 0) || u16::from(last) & ((1 << padding) - 1) != 0 {
        return syntax("invalid padding bits in BIT STRING");
    }
    Ok(bytes)
}

/// The arcs of an object identifier.
pub(super) fn oid(body: &[u8]) -> Parsed<Vec<u64>> {
    if body.is_empty() {
        return syntax("zero length OBJECT IDENTIFIER");
    }
    let mut numbers = Fields::of(body);
    let first = numbers.base_128()?;
    let head = (first / 40).min(2);
    let mut arcs = vec![head, first - head * 40];
    while !numbers.is_at_end() {
        arcs.push(numbers.base_128()?);
    }
    Ok(arcs)
}

/// A string whose signs are not those of its type.
pub(super) fn wrong_signs<T>(kind: &str) -> Parsed<T> {
    syntax(&format!("{kind} contains invalid character"))
}
