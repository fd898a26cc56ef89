//! Metrics in the text form of Prometheus, read.
//!
//! In: what `/metrics` shows, which this program has written. Out: families with their samples;
//! a line that is none is left out.

use crate::serve::metric::Kind;

/// A metric with its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownFamily {
    /// The name.
    pub name: String,
    /// The text about it.
    pub help: String,
    /// The type.
    pub kind: Kind,
    /// The samples, in the order of their lines.
    pub samples: Vec<Sample>,
}

/// A line with a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// What follows the name of the metric: `_bucket`, `_sum` and `_count` of histograms.
    pub suffix: String,
    /// The labels.
    pub labels: Vec<(String, String)>,
    /// The value.
    pub value: f64,
}

/// The families of a text.
pub fn families(text: &str) -> Vec<ShownFamily> {
    let mut all: Vec<ShownFamily> = Vec::new();
    let mut help = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (_, about) = rest.split_once(' ').unwrap_or((rest, ""));
            help = about.replace("\\n", "\n").replace("\\\\", "\\");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let Some((name, kind)) = rest.split_once(' ') else { continue };
            let kinds = [Kind::Counter, Kind::Gauge, Kind::Histogram];
            let Some(kind) = kinds.into_iter().find(|k| k.name() == kind) else { continue };
            all.push(ShownFamily {
                name: name.into(),
                help: std::mem::take(&mut help),
                kind,
                samples: Vec::new(),
            });
        } else if let Some(family) = all.last_mut() {
            family.samples.extend(line.strip_prefix(&family.name).and_then(sample));
        }
    }
    all
}

/// What follows the name of a metric in a line.
fn sample(rest: &str) -> Option<Sample> {
    let at = rest.find(['{', ' '])?;
    let (suffix, rest) = rest.split_at(at);
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    Some(Sample { suffix: suffix.into(), labels, value: value.trim().parse().ok()? })
}

/// The labels behind a brace, and what follows them.
fn labels(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut all = Vec::new();
    let mut rest = text;
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Some((all, after));
        }
        let (name, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut chars = after.char_indices();
        let end = loop {
            match chars.next()? {
                (at, '"') => break at + 1,
                (_, '\\') => match chars.next()?.1 {
                    'n' => value.push('\n'),
                    escaped => value.push(escaped),
                },
                (_, c) => value.push(c),
            }
        };
        all.push((name.to_string(), value));
        let after = after.get(end..)?;
        rest = after.strip_prefix(',').unwrap_or(after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_those_that_were_written() {
        let text = "# HELP m A.\n# TYPE m gauge\nm{a=\"b\\\"c\\\\d\\ne, f}\",g=\"\"} 2.5\nm 1e3\n";
        let [family] = &families(text)[..] else { panic!("one family") };
        assert_eq!((family.name.as_str(), family.help.as_str(), family.kind), ("m", "A.", Kind::Gauge));
        let label = |name: &str, value: &str| (name.to_string(), value.to_string());
        let [labelled, plain] = &family.samples[..] else { panic!("{family:?}") };
        assert_eq!(labelled.labels, [label("a", "b\"c\\d\ne, f}"), label("g", "")]);
        assert_eq!((labelled.value, plain.value, plain.labels.len()), (2.5, 1000.0, 0));
    }

    #[test]
    fn lines_that_are_none_are_left_out() {
        assert_eq!(families("x 1\n# TYPE y counter\ny{a=\"b\ny{a} 1\ny 1 2 3\nz 4\n")[0].samples, []);
    }
}
