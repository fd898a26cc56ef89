//! Notes what makes results depend on more than the request: clocks, chance, external data,
//! expressions that are composed at run time. The result cache reads the notes
//! (`policy_set::result_cache`).

use std::cell::Cell;

thread_local! {
    static NOTED: Cell<bool> = const { Cell::new(false) };
}

/// Notes that the current result depends on more than the request.
pub fn note() {
    NOTED.set(true);
}

/// Does something; whether it depends on more than the request.
pub fn during<T>(work: impl FnOnce() -> T) -> (T, bool) {
    let before = NOTED.replace(false);
    let made = work();
    let noted = NOTED.get();
    NOTED.set(before || noted);
    (made, noted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_reaches_every_enclosing_call() {
        let ((_, inner), outer) = during(|| during(note));
        assert!(inner && outer);
        let ((before, after), outer) = during(|| {
            note();
            (during(|| ()).1, during(|| ()).1)
        });
        assert!(!before && !after && outer);
    }
}
