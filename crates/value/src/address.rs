//! Addresses in the brackets of a URL, with the reasons why a text is none.
//!
//! Semantics: Go's `netip.ParseAddr`. The standard library reads the same addresses but gives no
//! reason.

use crate::quote::quote;
use crate::url;

/// Bytes of an address of version 6.
const SIZE: usize = 16;

/// Checks the text between the brackets of a host.
///
/// # Errors
/// The cause as Go's URL parser names it.
pub(super) fn check(text: &str) -> Result<(), url::UrlError> {
    match text.bytes().find(|b| b".:%".contains(b)) {
        Some(b'.') => {
            version_4(text, text)?;
            Err(url::UrlError::IpLiteral)
        }
        Some(b':') => Ok(version_6(text)?),
        Some(_) => Err(bad(text, AddressReason::OnlyZone, "").into()),
        None => Err(bad(text, AddressReason::NoColon, "").into()),
    }
}

/// A text is no address, in the words of Go's `netip`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ParseAddr({}): {why}{}", quote(.text), place(.at))]
pub struct AddressError {
    /// What was read.
    pub text: Box<str>,
    /// Why it is none.
    pub why: AddressReason,
    /// What follows the place, or nothing where the whole text is meant.
    pub at: Box<str>,
}

/// Why a text is no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressReason {
    /// Neither points nor colons.
    #[error("unable to parse IP")]
    NoColon,
    /// A zone without an address.
    #[error("missing IPv6 address")]
    OnlyZone,
    /// A percent sign without a zone.
    #[error("zone must be a non-empty string")]
    EmptyZone,
    /// A number of version 4 starts with a zero.
    #[error("IPv4 field has octet with leading zero")]
    LeadingZero,
    /// A number of version 4 needs more than a byte.
    #[error("IPv4 field has value >255")]
    Over255,
    /// A point without a number.
    #[error("IPv4 field must have at least one digit")]
    EmptyField,
    /// More than four numbers.
    #[error("IPv4 address too long")]
    TooLongIpv4,
    /// Less than four numbers.
    #[error("IPv4 address too short")]
    TooShortIpv4,
    /// A character that version 4 does not have.
    #[error("unexpected character")]
    Character,
    /// A group of more than four digits.
    #[error("each group must have 4 or less digits")]
    LongGroup,
    /// A colon without digits before it.
    #[error("each colon-separated field must have at least one digit")]
    EmptyGroup,
    /// An embedded address of version 4 that is not the end.
    #[error("embedded IPv4 address must replace the final 2 fields of the address")]
    EmbeddedTooEarly,
    /// An embedded address of version 4 behind too many groups.
    #[error("too many hex fields to fit an embedded IPv4 at the end of the address")]
    EmbeddedTooLate,
    /// A group that no colon follows.
    #[error("unexpected character, want colon")]
    NoColonAfterGroup,
    /// A colon at the end.
    #[error("colon must be followed by more characters")]
    EndsWithColon,
    /// Groups are left out twice.
    #[error("multiple :: in address")]
    SecondEllipsis,
    /// Text after the last group.
    #[error("trailing garbage after address")]
    Trailing,
    /// Less than eight groups.
    #[error("address string too short")]
    TooShort,
    /// No group is left out by `::`.
    #[error("the :: must expand to at least one field of zeros")]
    EmptyEllipsis,
}

fn place(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!(" (at {})", quote(at)) }
}

fn bad(text: &str, why: AddressReason, at: &str) -> AddressError {
    AddressError { text: text.into(), why, at: at.into() }
}

/// Checks four numbers with points between them; `text` is what the message shows.
fn version_4(text: &str, fields: &str) -> Result<(), AddressError> {
    let (mut points, mut digits, mut value) = (0, 0, 0u32);
    let mut last = '.';
    for (i, c) in fields.char_indices() {
        let rest = fields.get(i..).unwrap_or_default();
        match c.to_digit(10) {
            Some(_) if digits == 1 && value == 0 => {
                return Err(bad(text, AddressReason::LeadingZero, ""));
            }
            Some(digit) => {
                (digits, value) = (digits + 1, value * 10 + digit);
                if value > 255 {
                    return Err(bad(text, AddressReason::Over255, ""));
                }
            }
            None if c == '.' => {
                if last == '.' || rest.len() == 1 {
                    return Err(bad(text, AddressReason::EmptyField, rest));
                }
                if points == 3 {
                    return Err(bad(text, AddressReason::TooLongIpv4, ""));
                }
                (points, digits, value) = (points + 1, 0, 0);
            }
            None => return Err(bad(text, AddressReason::Character, rest)),
        }
        last = c;
    }
    if points < 3 { Err(bad(text, AddressReason::TooShortIpv4, "")) } else { Ok(()) }
}

fn version_6(text: &str) -> Result<(), AddressError> {
    let (mut s, zone) = text.split_once('%').map_or((text, None), |(s, zone)| (s, Some(zone)));
    if zone == Some("") {
        return Err(bad(text, AddressReason::EmptyZone, ""));
    }
    let mut ellipsis = false;
    if let Some(rest) = s.strip_prefix("::") {
        (s, ellipsis) = (rest, true);
        if s.is_empty() {
            return Ok(());
        }
    }
    let mut read = 0;
    while read < SIZE {
        let digits = s.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            return Err(bad(text, AddressReason::LongGroup, s));
        }
        if digits == 0 {
            return Err(bad(text, AddressReason::EmptyGroup, s));
        }
        let rest = s.get(digits..).unwrap_or_default();
        if rest.starts_with('.') {
            if !ellipsis && read != SIZE - 4 {
                return Err(bad(text, AddressReason::EmbeddedTooEarly, s));
            }
            if read + 4 > SIZE {
                return Err(bad(text, AddressReason::EmbeddedTooLate, s));
            }
            version_4(text, s)?;
            (s, read) = ("", read + 4);
            break;
        }
        read += 2;
        s = rest;
        if s.is_empty() {
            break;
        }
        let Some(after) = s.strip_prefix(':') else {
            return Err(bad(text, AddressReason::NoColonAfterGroup, s));
        };
        if after.is_empty() {
            return Err(bad(text, AddressReason::EndsWithColon, s));
        }
        s = after;
        if let Some(after) = s.strip_prefix(':') {
            if ellipsis {
                return Err(bad(text, AddressReason::SecondEllipsis, s));
            }
            (s, ellipsis) = (after, true);
            if s.is_empty() {
                break;
            }
        }
    }
    match (s.is_empty(), read < SIZE, ellipsis) {
        (false, ..) => Err(bad(text, AddressReason::Trailing, s)),
        (true, true, false) => Err(bad(text, AddressReason::TooShort, "")),
        (true, false, true) => Err(bad(text, AddressReason::EmptyEllipsis, "")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::url::UrlError;

    #[test]
    fn addresses_are_accepted() {
        for text in
            ["::", "::1", "fe80::1%eth0", "1:2:3:4:5:6:7:8", "1::8", "::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4"]
        {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    /// Recorded from the reference.
    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        let cases = [
            ("fe80", "unable to parse IP"),
            ("%eth0", "missing IPv6 address"),
            ("fe80::1%", "zone must be a non-empty string"),
            ("fe80.1", "unexpected character (at \"fe80.1\")"),
            ("1::2::3", "multiple :: in address (at \":3\")"),
            ("12345::", "each group must have 4 or less digits (at \"12345::\")"),
            ("1:2:3:4:5:6:7", "address string too short"),
            ("1:2:3:4:5:6:7:8:9", "trailing garbage after address (at \"9\")"),
            ("::1.2.3", "IPv4 address too short"),
            ("::1.2.3.400", "IPv4 field has value >255"),
            ("::1.2.3.04", "IPv4 field has octet with leading zero"),
            ("1.2.3.4.5", "IPv4 address too long"),
            ("1..2", "IPv4 field must have at least one digit (at \".2\")"),
            ("::1.", "IPv4 field must have at least one digit (at \".\")"),
            (":1", "each colon-separated field must have at least one digit (at \":1\")"),
            ("1:", "colon must be followed by more characters (at \":\")"),
            ("::1x", "unexpected character, want colon (at \"x\")"),
            ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
            (
                "1:2:3:4:5:6:7:1.2.3.4",
                "embedded IPv4 address must replace the final 2 fields of the address (at \"1.2.3.4\")",
            ),
        ];
        for (text, why) in cases {
            let shown = check(text).map_err(|e| e.to_string());
            assert_eq!(shown, Err(format!("invalid host: ParseAddr(\"{text}\"): {why}")));
        }
        assert_eq!(check("1.2.3.4"), Err(UrlError::IpLiteral));
    }
}
