//! What all tests of a run add up to.

use std::time::Instant;

use ephor_report::run::Finding;
use ephor_testing::testing::coverage::Coverage;
use ephor_testing::testing::rows::Row;

/// The totals of all tests so far.
pub(super) struct TestTotals {
    pub started: Instant,
    pub rows: usize,
    pub failed: Vec<Row>,
    pub failures: usize,
    pub vacuous: Vec<String>,
    pub coverage: Coverage,
    /// Whether there is a report, with these results.
    pub is_reported: bool,
    pub findings: Vec<Finding>,
}

impl Default for TestTotals {
    fn default() -> TestTotals {
        TestTotals {
            started: Instant::now(),
            rows: 0,
            failed: Vec::new(),
            failures: 0,
            vacuous: Vec::new(),
            coverage: Coverage::default(),
            is_reported: false,
            findings: Vec::new(),
        }
    }
}
