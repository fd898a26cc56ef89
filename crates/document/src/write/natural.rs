//! The order of keys in printed YAML: *natural* order.
//!
//! Runs of digits compare by number, letters come after everything else. The newer printer puts
//! letters first where they follow a digit. Kyverno 1.19.1's rule is no total order (of three odd
//! keys each may come before the next), so the standard library's sort, which may panic on such a
//! rule, is not used.

use std::cmp::Ordering;

use ephor_value::{Map, Str, Value};

type Entry<'m> = (&'m Str, &'m Value);

/// The entries of an object in printing order.
pub(super) fn sorted(entries: &Map, letters_after_digits: bool) -> Vec<Entry<'_>> {
    let less = |a: &Entry<'_>, b: &Entry<'_>| compare(a.0, b.0, letters_after_digits).is_lt();
    let mut all: Vec<Entry<'_>> = entries.iter().collect();
    if all.is_sorted_by(&less) {
        return all;
    }
    let mut width = 1;
    while width < all.len() {
        let mut merged = Vec::with_capacity(all.len());
        for pair in all.chunks(width * 2) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
            while let (Some(l), Some(r)) = (left.peek(), right.peek()) {
                merged.extend(if less(r, l) { right.next() } else { left.next() });
            }
            merged.extend(left);
            merged.extend(right);
        }
        all = merged;
        width *= 2;
    }
    all
}

/// Compares two keys; see the module page.
pub(super) fn compare(a: &str, b: &str, letters_after_digits: bool) -> Ordering {
    if let (Some(x), Some(y)) = (a.bytes().next(), b.bytes().next())
        && x != y
        && x.is_ascii_alphabetic()
        && y.is_ascii_alphabetic()
    {
        return x.cmp(&y);
    }
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let same = (0..=same).rev().find(|i| a.is_char_boundary(*i)).unwrap_or(0);
    let (head, a, b) =
        (a.get(..same).unwrap_or(""), a.get(same..).unwrap_or(""), b.get(same..).unwrap_or(""));
    let (Some(x), Some(y)) = (a.chars().next(), b.chars().next()) else { return a.len().cmp(&b.len()) };
    match (x.is_alphabetic(), y.is_alphabetic()) {
        (true, true) => return x.cmp(&y),
        (false, false) => {}
        (x_letter, _) => {
            // After a digit, the object printer puts letters first.
            let letters_first = letters_after_digits && head.ends_with(char::is_numeric);
            return if x_letter == letters_first { Ordering::Less } else { Ordering::Greater };
        }
    }
    // A zero inside a longer number is a digit of it, not a leading zero.
    let inside_number =
        (x == '0' || y == '0') && head.chars().rev().take_while(char::is_ascii_digit).any(|c| c != '0');
    let run = |s: &str| {
        let digits = s.bytes().take_while(u8::is_ascii_digit).count();
        let start = i64::from(inside_number);
        let number =
            s.bytes().take(digits).fold(start, |n, d| n.wrapping_mul(10).wrapping_add(i64::from(d - b'0')));
        (number, digits)
    };
    run(a).cmp(&run(b)).then(x.cmp(&y))
}
