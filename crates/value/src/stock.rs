//! Texts of the program that many values share: names of members, messages.
//!
//! In: a constant text. Out: the same text, shared. Each thread has its own, because counting
//! references to the same text from all threads is slow. The table has one place for several texts:
//! a collision costs sharing and never correctness.

use std::cell::RefCell;

use super::Str;

/// Places in the table; a power of two.
const PLACES: usize = 256;

thread_local! {
    /// The texts by their address, which no other text has: they are never freed.
    static TEXTS: RefCell<Vec<Option<(usize, Str)>>> = const { RefCell::new(Vec::new()) };
}

/// A constant text, shared with all values of the thread that have it.
pub fn stock(text: &'static str) -> Str {
    let address = text.as_ptr() as usize;
    // Constants lie side by side, of any length.
    let place = (address ^ (address >> 8) ^ text.len()) % PLACES;
    TEXTS.with_borrow_mut(|known| {
        if known.is_empty() {
            known.resize(PLACES, None);
        }
        match known.get_mut(place) {
            Some(Some((at, known))) if *at == address && known.len() == text.len() => known.clone(),
            Some(slot) => slot.insert((address, text.into())).1.clone(),
            None => text.into(),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_text_is_shared_and_a_part_of_it_is_another_text() {
        const TEXT: &str = "metadata";
        let shared = stock(TEXT);
        assert_eq!(&*shared, TEXT);
        assert!(Arc::ptr_eq(&shared, &stock(TEXT)));
        for end in 0..TEXT.len() {
            assert_eq!(TEXT.get(..end), Some(&*stock(&TEXT[..end])));
            assert_eq!(TEXT.get(end..), Some(&*stock(&TEXT[end..])));
        }
        assert_eq!(&*stock(TEXT), TEXT);
    }
}
