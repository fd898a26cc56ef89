//! A reader of DER, the encoding of certificates.
//!
//! In: bytes. Out: elements with their tag, content and whole encoding. Lengths must be minimal and fit;
//! nothing is copied and nothing recurses.

/// An element.
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    /// The tag byte, with class and the bit of constructed elements.
    pub tag: u8,
    /// The content.
    pub body: &'a [u8],
    /// Tag, length and content.
    pub raw: &'a [u8],
}

/// The tag of a boolean.
pub const BOOLEAN: u8 = 0x01;
/// The tag of an integer.
pub const INTEGER: u8 = 0x02;
/// The tag of a string of bits.
pub const BIT_STRING: u8 = 0x03;
/// The tag of a string of bytes.
pub const OCTET_STRING: u8 = 0x04;
/// The tag of an object identifier.
pub const OID: u8 = 0x06;
/// The tag of a sequence.
pub const SEQUENCE: u8 = 0x30;
/// The tag of a set.
pub const SET: u8 = 0x31;

/// The elements of some content.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The tag of the next element.
    pub fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next element, whatever its tag.
    pub fn any(&mut self) -> Option<Element<'a>> {
        let (tag, rest) = self.0.split_first()?;
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (first, rest) = rest.split_first()?;
        let (length, body) = if *first < 0x80 {
            (usize::from(*first), rest)
        } else {
            let (digits, body) = rest.split_at_checked(usize::from(first & 0x7f))?;
            if digits.is_empty() || digits.len() > 4 || digits.first() == Some(&0) {
                return None;
            }
            let length = digits.iter().fold(0usize, |n, b| n << 8 | usize::from(*b));
            if length < 0x80 {
                return None;
            }
            (length, body)
        };
        let body_at = self.0.len() - body.len();
        let body = body.get(..length)?;
        let (raw, after) = self.0.split_at_checked(body_at + length)?;
        self.0 = after;
        Some(Element { tag: *tag, body, raw })
    }

    /// The next element, which must have this tag.
    pub fn tagged(&mut self, tag: u8) -> Option<Element<'a>> {
        if self.peek()? == tag { self.any() } else { None }
    }

    /// The next element when it has this tag.
    pub fn optional(&mut self, tag: u8) -> Option<Option<Element<'a>>> {
        if self.peek() == Some(tag) { self.any().map(Some) } else { Some(None) }
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Element<'a>;

    /// The next element; ends at the end and at the first thing that is none.
    fn next(&mut self) -> Option<Element<'a>> {
        self.any()
    }
}

impl<'a> Element<'a> {
    /// The elements within.
    pub fn inside(&self) -> Reader<'a> {
        Reader(self.body)
    }
}

/// The arcs of an object identifier.
pub fn oid(body: &[u8]) -> Option<Vec<u64>> {
    let mut arcs = Vec::new();
    let mut arc = 0u64;
    for b in body {
        arc = arc.checked_mul(128)?.checked_add(u64::from(b & 0x7f))?;
        if b & 0x80 != 0 {
            continue;
        }
        if arcs.is_empty() {
            let first = (arc / 40).min(2);
            arcs.push(first);
            arc -= first * 40;
        }
        arcs.push(arc);
        arc = 0;
    }
    (body.last()? & 0x80 == 0).then_some(arcs)
}

/// Whether an integer has a first byte, and one that is needed.
pub(super) fn is_minimal(body: &[u8]) -> bool {
    match body {
        [] => false,
        [0, next, ..] => next & 0x80 != 0,
        [0xff, next, ..] => next & 0x80 == 0,
        _ => true,
    }
}

/// A small non-negative integer.
pub fn small(body: &[u8]) -> Option<i64> {
    if !is_minimal(body) || body.len() > 7 || body.first()? & 0x80 != 0 {
        return None;
    }
    Some(body.iter().fold(0, |n, b| n << 8 | i64::from(*b)))
}

/// The bytes of a bit string and the number of its bits.
pub fn bits(body: &[u8]) -> Option<(&[u8], usize)> {
    let (unused, bytes) = body.split_first()?;
    let bits = (bytes.len() * 8).checked_sub(usize::from(*unused))?;
    (*unused < 8).then_some((bytes, bits))
}
