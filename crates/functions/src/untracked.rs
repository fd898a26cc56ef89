//! Notes what makes results depend on more than the request: clocks, chance, answers of others, expressions
//! that are put together at run time. Whoever remembers results asks for it (`policy_set::result_cache`).

use std::cell::Cell;

thread_local! {
    static NOTED: Cell<bool> = const { Cell::new(false) };
}

/// Notes that the result which is being made depends on more than the request.
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
    fn what_is_noted_is_told_to_all_who_asked_around_it() {
        let ((_, inner), outer) = during(|| during(note));
        assert!(inner && outer);
        let ((before, after), outer) = during(|| {
            note();
            (during(|| ()).1, during(|| ()).1)
        });
        assert!(!before && !after && outer);
    }
}
