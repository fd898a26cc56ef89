//! DER, the encoding of certificates: the one reader of its elements, and their writer.
//!
//! In: bytes. Out: elements with their tag, content and whole encoding, and what the content of
//! simple ones means. Lengths must be minimal and fit; nothing is copied and nothing recurses.
//! Errors are the texts of Go's `encoding/asn1`, which refuses the same bytes as the reader that Go
//! has for certificates; who needs no text drops it.

/// What is read, or what is wrong with it.
pub type Read<T> = Result<T, DerError>;

/// Why bytes are no DER, in the words of Go's `encoding/asn1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DerError {
    /// The content of an element is cut.
    #[error("asn1: syntax error: data truncated")]
    Truncated,
    /// The content of an item of a list is cut.
    #[error("asn1: syntax error: truncated sequence")]
    TruncatedSequence,
    /// Nothing where an element must be.
    #[error("asn1: syntax error: sequence truncated")]
    NoElement,
    /// The tag or the length is cut.
    #[error("asn1: syntax error: truncated tag or length")]
    TruncatedHead,
    /// A number of a tag that needs fewer bytes.
    #[error("asn1: syntax error: non-minimal tag")]
    LongTag,
    /// A length that is not stated.
    #[error("asn1: syntax error: indefinite length found (not DER)")]
    Indefinite,
    /// A length of more than 31 bits.
    #[error("asn1: structure error: length too large")]
    LargeLength,
    /// A length that begins with zeros.
    #[error("asn1: structure error: superfluous leading zeros in length")]
    ZerosInLength,
    /// A length that needs fewer bytes.
    #[error("asn1: structure error: non-minimal length")]
    LongLength,
    /// A number of more than 31 bits in groups of seven.
    #[error("asn1: structure error: base 128 integer too large")]
    LargeArc,
    /// A number in groups of seven that needs fewer of them.
    #[error("asn1: syntax error: integer is not minimally encoded")]
    LongArc,
    /// A number in groups of seven is cut.
    #[error("asn1: syntax error: truncated base 128 integer")]
    TruncatedArc,
    /// A truth value that is neither of the two.
    #[error("asn1: syntax error: invalid boolean")]
    Boolean,
    /// An object identifier without arcs.
    #[error("asn1: syntax error: zero length OBJECT IDENTIFIER")]
    EmptyOid,
    /// An integer without bytes.
    #[error("asn1: structure error: empty integer")]
    EmptyInteger,
    /// An integer that needs fewer bytes.
    #[error("asn1: structure error: integer not minimally-encoded")]
    LongInteger,
    /// An integer of more than 64 bits.
    #[error("asn1: structure error: integer too large")]
    LargeInteger,
    /// Unused bits of a bit string that are set, or that it does not have.
    #[error("asn1: syntax error: invalid padding bits in BIT STRING")]
    Padding,
    /// A bit string without its number of unused bits.
    #[error("asn1: syntax error: zero length BIT STRING")]
    EmptyBits,
}

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

/// What stands before the content of an element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    /// The tag byte.
    pub tag: u8,
    /// The number of the tag, which is in further bytes where it is not below 31.
    pub number: u64,
    /// The length of the content.
    pub length: usize,
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
/// The tag of a text in UTF-8.
pub const UTF8_STRING: u8 = 0x0c;
/// The tag of a sequence.
pub const SEQUENCE: u8 = 0x30;
/// The tag of a set.
pub const SET: u8 = 0x31;
/// The number in a tag byte that further bytes follow with the number itself.
const LONG: u8 = 0x1f;

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

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    /// The tag and the length of the next element; its content is what follows.
    pub(super) fn head(&mut self) -> Read<Head> {
        const CUT: DerError = DerError::TruncatedHead;
        let tag = self.byte().ok_or(DerError::NoElement)?;
        let mut number = u64::from(tag & LONG);
        if tag & LONG == LONG {
            number = self.base_128()?;
            if number < u64::from(LONG) {
                return Err(DerError::LongTag);
            }
        }
        let size = self.byte().ok_or(CUT)?;
        let mut length = usize::from(size & 0x7f);
        if size & 0x80 != 0 {
            if length == 0 {
                return Err(DerError::Indefinite);
            }
            let digits = std::mem::take(&mut length);
            for _ in 0..digits {
                let digit = self.byte().ok_or(CUT)?;
                if length >= 1 << 23 {
                    return Err(DerError::LargeLength);
                }
                length = length << 8 | usize::from(digit);
                if length == 0 {
                    return Err(DerError::ZerosInLength);
                }
            }
            if length < 0x80 {
                return Err(DerError::LongLength);
            }
        }
        Ok(Head { tag, number, length })
    }

    /// A number of at most 31 bits, in groups of seven.
    fn base_128(&mut self) -> Read<u64> {
        const TOO_LARGE: DerError = DerError::LargeArc;
        let mut number = 0u64;
        for place in 0.. {
            let Some(byte) = self.byte() else { break };
            if place == 5 {
                return Err(TOO_LARGE);
            }
            if place == 0 && byte == 0x80 {
                return Err(DerError::LongArc);
            }
            number = number << 7 | u64::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return if number < 1 << 31 { Ok(number) } else { Err(TOO_LARGE) };
            }
        }
        Err(DerError::TruncatedArc)
    }

    /// The element that begins at `from` and whose head was read; `cut` = the error where it is not
    /// whole.
    pub(super) fn content(&mut self, from: Reader<'a>, head: Head, cut: DerError) -> Read<Element<'a>> {
        let (body, after) = self.0.split_at_checked(head.length).ok_or(cut)?;
        let raw = from.0.get(..from.0.len() - after.len()).ok_or(cut)?;
        self.0 = after;
        Ok(Element { tag: head.tag, body, raw })
    }

    /// The next element, whatever its tag.
    pub fn any(&mut self) -> Option<Element<'a>> {
        let mut ahead = *self;
        // Certificates have no tags of several bytes.
        let head = ahead.head().ok().filter(|head| head.tag & LONG != LONG)?;
        let element = ahead.content(*self, head, DerError::Truncated).ok()?;
        *self = ahead;
        Some(element)
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

/// A truth value.
///
/// # Errors
/// It is neither of the two.
pub fn flag(body: &[u8]) -> Read<bool> {
    match body {
        [0] => Ok(false),
        [0xff] => Ok(true),
        _ => Err(DerError::Boolean),
    }
}

/// The arcs of an object identifier, which have at most 31 bits.
///
/// # Errors
/// It has none, or one is longer, not minimal or cut.
pub fn oid(body: &[u8]) -> Read<Vec<u64>> {
    let mut numbers = Reader(body);
    if numbers.is_empty() {
        return Err(DerError::EmptyOid);
    }
    let first = numbers.base_128()?;
    let head = (first / 40).min(2);
    let mut arcs = vec![head, first - head * 40];
    while !numbers.is_empty() {
        arcs.push(numbers.base_128()?);
    }
    Ok(arcs)
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

/// A signed integer of at most 64 bits.
///
/// # Errors
/// It is longer, or not minimal.
pub fn int(body: &[u8]) -> Read<i64> {
    match body {
        [] => return Err(DerError::EmptyInteger),
        _ if !is_minimal(body) => return Err(DerError::LongInteger),
        _ if body.len() > 8 => return Err(DerError::LargeInteger),
        _ => {}
    }
    let sign = if body.first().is_some_and(|b| b & 0x80 != 0) { -1 } else { 0 };
    Ok(body.iter().fold(sign, |n, b| n << 8 | i64::from(*b)))
}

/// A non-negative integer of at most 63 bits.
pub fn small(body: &[u8]) -> Option<i64> {
    int(body).ok().filter(|n| *n >= 0)
}

/// The bytes of a bit string and the number of its bits.
///
/// # Errors
/// It says of more bits than it has that they are unused, or one of these is set.
pub fn bits(body: &[u8]) -> Read<(&[u8], usize)> {
    const PADDING: DerError = DerError::Padding;
    let (padding, bytes) = body.split_first().ok_or(DerError::EmptyBits)?;
    let last = bytes.last().copied().unwrap_or(0);
    if *padding > 7 || last.trailing_zeros() < u32::from(*padding) {
        return Err(PADDING);
    }
    let bits = (bytes.len() * 8).checked_sub(usize::from(*padding)).ok_or(PADDING)?;
    Ok((bytes, bits))
}

/// Writes an element.
pub fn element(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let bytes = body.len().to_be_bytes();
    let digits = bytes.get(bytes.iter().take_while(|b| **b == 0).count()..).unwrap_or_default();
    match u8::try_from(body.len()) {
        Ok(short) if short < 0x80 => out.push(short),
        _ => {
            out.push(0x80 | u8::try_from(digits.len()).unwrap_or_default());
            out.extend(digits);
        }
    }
    out.extend(body);
    out
}

/// Writes the integer whose magnitude these bytes are; none are zero.
pub fn unsigned(magnitude: &[u8]) -> Vec<u8> {
    let zeros = magnitude.iter().take_while(|b| **b == 0).count();
    let digits = magnitude.get(zeros..).unwrap_or_default();
    let sign = digits.first().is_none_or(|b| *b >= 0x80);
    element(INTEGER, &[if sign { &[0][..] } else { &[] }, digits].concat())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for length in [0, 1, 127, 128, 255, 256, 65_536] {
            let body = vec![7; length];
            let written = element(OCTET_STRING, &body);
            let read = Reader(&written).tagged(OCTET_STRING).unwrap();
            assert_eq!((read.body, read.raw), (&*body, &*written), "{length}");
        }
        assert_eq!(unsigned(&[0, 0]), [2, 1, 0]);
        assert_eq!(unsigned(&[0, 0x7f]), [2, 1, 0x7f]);
        assert_eq!(unsigned(&[0x80, 1]), [2, 3, 0, 0x80, 1]);
    }

    #[test]
    fn a_length_is_minimal_and_fits() {
        let bytes = |head: &[u8], length: usize| [head, &vec![0; length]].concat();
        assert!(Reader(&bytes(&[4, 0x81, 0x80], 128)).any().is_some());
        for (head, length) in [
            // Too short, cut, indefinite, with a zero in front, of more than 31 bits, longer than
            // the rest.
            (&[4, 0x81, 0x7f][..], 127),
            (&[4, 0x82, 1], 0),
            (&[4, 0x80], 0),
            (&[4, 0x82, 0, 0x80], 128),
            (&[4, 0x85, 1, 0, 0, 0, 0], 0),
            (&[4, 2], 1),
        ] {
            let bytes = bytes(head, length);
            let mut reader = Reader(&bytes);
            assert!(reader.any().is_none(), "{head:?}");
            assert_eq!(reader.0, bytes, "{head:?}");
        }
    }

    #[test]
    fn errors_are_those_of_go() {
        let head = |bytes: &[u8]| {
            Reader(bytes).head().map(|head| (head.number, head.length)).map_err(|e| e.to_string())
        };
        let wrong = |text: &str| Err(text.to_owned());
        assert_eq!(head(&[0x1f, 0x1f, 0]), Ok((31, 0)));
        assert_eq!(head(&[]), wrong("asn1: syntax error: sequence truncated"));
        assert_eq!(head(&[4]), wrong("asn1: syntax error: truncated tag or length"));
        assert_eq!(head(&[0x1f, 0x1e, 0]), wrong("asn1: syntax error: non-minimal tag"));
        assert_eq!(head(&[0x1f, 0x80, 0]), wrong("asn1: syntax error: integer is not minimally encoded"));
        assert_eq!(head(&[4, 0x80]), wrong("asn1: syntax error: indefinite length found (not DER)"));
        assert_eq!(
            head(&[4, 0x82, 0, 1]),
            wrong("asn1: structure error: superfluous leading zeros in length")
        );
        assert_eq!(head(&[4, 0x81, 1]), wrong("asn1: structure error: non-minimal length"));
        assert_eq!(head(&[4, 0x84, 0x80, 0, 0, 0]), wrong("asn1: structure error: length too large"));

        assert_eq!(oid(&[0x2b, 0x87, 0xff, 0xff, 0xff, 0x7f]), Ok(vec![1, 3, (1 << 31) - 1]));
        assert_eq!(oid(&[0x2b, 0x88, 0x80, 0x80, 0x80, 0]), Err(DerError::LargeArc));
        assert_eq!(DerError::LargeArc.to_string(), "asn1: structure error: base 128 integer too large");
        assert_eq!(oid(&[0x2b, 0x86]), Err(DerError::TruncatedArc));
        assert_eq!(DerError::TruncatedArc.to_string(), "asn1: syntax error: truncated base 128 integer");
        assert_eq!(int(&[0, 1]), Err(DerError::LongInteger));
        assert_eq!(DerError::LongInteger.to_string(), "asn1: structure error: integer not minimally-encoded");
        assert_eq!((int(&[0xff]), small(&[0xff])), (Ok(-1), None));
        assert_eq!(bits(&[4, 0xf0]), Ok((&[0xf0][..], 4)));
        for wrong in [&[5, 0xf0][..], &[8, 0], &[1]] {
            assert_eq!(bits(wrong), Err(DerError::Padding));
        }
        assert_eq!(DerError::Padding.to_string(), "asn1: syntax error: invalid padding bits in BIT STRING");
        assert_eq!(
            flag(&[1]).map_err(|e| e.to_string()),
            Err("asn1: syntax error: invalid boolean".to_owned())
        );
    }
}
