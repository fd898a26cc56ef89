//! Choices taken from bytes, so that a property test can shrink what is built of them.

/// Bytes that decide, one after the other, what is generated; an empty tape gives the first choice.
pub struct Tape<'b>(pub std::slice::Iter<'b, u8>);

impl Tape<'_> {
    /// A number below `n`.
    pub fn pick(&mut self, n: usize) -> usize {
        self.0.next().map_or(0, |b| *b as usize % n)
    }

    /// True or false.
    pub fn flip(&mut self) -> bool {
        self.pick(2) == 1
    }

    /// One of some values.
    pub fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.pick(choices.len())].clone()
    }
}
