//! The engine for Python: `answer` of `ephor-page`, and nothing else; `ephor/__init__.py` has the
//! functions.

use pyo3::prelude::*;

/// The native part of the package `ephor`.
#[pymodule]
mod _ephor {
    use pyo3::prelude::*;

    /// Answers a question, JSON with JSON. Other threads of Python run meanwhile.
    #[pyfunction]
    fn answer(py: Python<'_>, question: &str) -> String {
        py.detach(|| ephor_page::answer(question))
    }
}
