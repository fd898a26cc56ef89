//! Coverage: which rules, conditions and leaves of patterns tests reach.
//!
//! In: policies with what was reached while their tests ran. Out: every piece with how often it was
//! reached, by file and line, as text, as a document or as a page. Pieces of generated rules count
//! where they are written. Semantics: `docs/reference/test.md`, "Coverage".

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use ephor_document::locate::{locate, locate_key};
use ephor_engine::trace::Hits;
use ephor_ir::check::{Check, ForEach, Overlay, Overlays};
use ephor_ir::mutate::Change;
use ephor_ir::pattern::Leaf;
use ephor_ir::rule::Body;
use ephor_ir::shape::{ListShape, MapShape, Shape};
use ephor_ir::{Condition, Conditions, Origin, Policy, Rule};
use ephor_policies::load::LoadedPolicy;
use ephor_report::formats::html::{beginning, escape, table_head};
use ephor_value::place::{PathPart, dotted, parse};
use ephor_value::{Map, Str, Value};

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Piece {
    /// A rule.
    Rule,
    /// A condition.
    Condition,
    /// A leaf of a pattern; a pattern with variables is one.
    Leaf,
}

impl Piece {
    fn name(self) -> &'static str {
        match self {
            Piece::Rule => "rule",
            Piece::Condition => "condition",
            Piece::Leaf => "pattern",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Piece::Rule => "rules",
            Piece::Condition => "conditions",
            Piece::Leaf => "pattern leaves",
        }
    }
}

/// Where a piece is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct At {
    file: String,
    line: usize,
    path: String,
    piece: Piece,
}

/// A piece's rule and how often it was reached.
#[derive(Clone, Debug)]
struct Reached {
    policy: String,
    rule: String,
    hits: u64,
}

/// Pieces by place.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    pieces: BTreeMap<At, Reached>,
}

impl Coverage {
    /// Adds the pieces of a policy. `ran` counts the results of rules, by name.
    pub fn add(&mut self, loaded: &LoadedPolicy, policy: &Policy, hits: &Hits, ran: &HashMap<String, u64>) {
        let mut walk = CoverageWalk { loaded, policy, hits, rule: String::new(), coverage: self };
        for rule in policy.all_rules() {
            walk.rule(rule, ran.get(&*rule.name).copied().unwrap_or(0));
        }
    }

    /// Adds what another test reached.
    pub fn merge(&mut self, other: Coverage) {
        for (at, reached) in other.pieces {
            match self.pieces.get_mut(&at) {
                Some(sum) => sum.hits = sum.hits.saturating_add(reached.hits),
                None => {
                    self.pieces.insert(at, reached);
                }
            }
        }
    }

    /// How many pieces of a kind were reached, and how many there are.
    fn count(&self, piece: Piece) -> (usize, usize) {
        let of_kind = || self.pieces.iter().filter(|(at, _)| at.piece == piece);
        (of_kind().filter(|(_, r)| r.hits > 0).count(), of_kind().count())
    }

    /// The share of all pieces that was reached, in percent; 100 where there is none.
    pub fn percent(&self) -> f64 {
        let reached = self.pieces.values().filter(|r| r.hits > 0).count();
        match self.pieces.len() {
            0 => 100.0,
            all => reached as f64 * 100.0 / all as f64,
        }
    }

    /// The pieces as a tracefile of lcov 1.x (`geninfo(1)`): rules are its functions, conditions
    /// and leaves of patterns its lines. A line with several pieces has the hits of the one that
    /// was reached least.
    pub fn lcov(&self) -> String {
        let mut files: BTreeMap<&str, Vec<(&At, &Reached)>> = BTreeMap::new();
        for (at, reached) in &self.pieces {
            files.entry(&at.file).or_default().push((at, reached));
        }
        let mut out = String::new();
        for (file, pieces) in files {
            let rules: Vec<_> = pieces.iter().filter(|(at, _)| at.piece == Piece::Rule).collect();
            let mut lines: BTreeMap<usize, u64> = BTreeMap::new();
            for (at, reached) in &pieces {
                let hits = lines.entry(at.line).or_insert(reached.hits);
                *hits = (*hits).min(reached.hits);
            }
            out.push_str(&format!("TN:\nSF:{file}\n"));
            for (at, r) in &rules {
                out.push_str(&format!("FN:{},{}/{}\n", at.line, r.policy, r.rule));
            }
            for (_, r) in &rules {
                out.push_str(&format!("FNDA:{},{}/{}\n", r.hits, r.policy, r.rule));
            }
            let run = rules.iter().filter(|(_, r)| r.hits > 0).count();
            out.push_str(&format!("FNF:{}\nFNH:{run}\n", rules.len()));
            for (line, hits) in &lines {
                out.push_str(&format!("DA:{line},{hits}\n"));
            }
            let hit = lines.values().filter(|hits| **hits > 0).count();
            out.push_str(&format!("LF:{}\nLH:{hit}\nend_of_record\n", lines.len()));
        }
        out
    }

    /// A page that stands alone: a bar for each file, and what no test reached.
    pub fn html(&self) -> String {
        let mut files: BTreeMap<&str, Vec<(&At, &Reached)>> = BTreeMap::new();
        for (at, reached) in &self.pieces {
            files.entry(&at.file).or_default().push((at, reached));
        }
        let mut out = beginning(&format!("Coverage: {:.1} %", self.shown_percent()), "", "");
        let _ = writeln!(
            out,
            "<header>\n<h1>Coverage of tests</h1>\n<p class=\"soft\">{:.1} % of rules, conditions and leaves of patterns reached</p>\n</header>\n<ul class=\"counts\" aria-label=\"Counts\">",
            self.shown_percent()
        );
        for piece in [Piece::Rule, Piece::Condition, Piece::Leaf] {
            let (reached, all) = self.count(piece);
            let class = if reached == all { "pass" } else { "fail" };
            let _ = writeln!(out, "<li class=\"{class}\"><b>{reached}/{all}</b>{}</li>", piece.plural());
        }
        out.push_str("</ul>\n<div class=\"wide\">\n<table>\n<caption>Files</caption>\n");
        out.push_str(&table_head(&["File", "Reached", "Not reached"]));
        out.push('\n');
        for (file, pieces) in files {
            let reached = pieces.iter().filter(|(_, r)| r.hits > 0).count();
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{}</th><td><meter min=\"0\" max=\"{1}\" value=\"{reached}\">{reached}</meter> {reached}/{1}</td><td>",
                escape(file),
                pieces.len()
            );
            for (at, r) in pieces.iter().filter(|(_, r)| r.hits == 0) {
                let what = match at.piece {
                    Piece::Rule => "never ran".to_owned(),
                    piece => format!("{} {}", piece.name(), at.path),
                };
                let _ = write!(
                    out,
                    "line {}: {}/{}: {}<br>",
                    at.line,
                    escape(&r.policy),
                    escape(&r.rule),
                    escape(&what)
                );
            }
            out.push_str("</td></tr>\n");
        }
        out.push_str("</tbody>\n</table>\n</div>\n</main>\n</body>\n</html>\n");
        out
    }

    /// The share that was reached, rounded down: 100 is shown only where all was.
    fn shown_percent(&self) -> f64 {
        (self.percent() * 10.0).floor() / 10.0
    }

    /// A line for everything that was not reached, and the totals.
    pub fn text(&self) -> String {
        let mut out = String::from("Coverage:\n");
        for (at, r) in self.pieces.iter().filter(|(_, r)| r.hits == 0) {
            let what = match at.piece {
                Piece::Rule => "never ran".to_owned(),
                piece => format!("{} never reached: {}", piece.name(), at.path),
            };
            out.push_str(&format!(
                "  {}:{}: rule `{}` of `{}`: {what}\n",
                at.file, at.line, r.rule, r.policy
            ));
        }
        let totals: Vec<String> = [Piece::Rule, Piece::Condition, Piece::Leaf]
            .into_iter()
            .map(|piece| {
                let (reached, all) = self.count(piece);
                format!("{reached} of {all} {}", piece.plural())
            })
            .collect();
        out.push_str(&format!("  {} reached\n", totals.join(", ")));
        out
    }

    /// The pieces by file, as `lcov` orders them: totals, and a list of lines with their hits.
    pub fn document(&self) -> Value {
        let object = |entries: Vec<(&str, Value)>| {
            Value::Map(entries.into_iter().map(|(k, v)| (Str::from(k), v)).collect::<Map>())
        };
        let number = |n: usize| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
        let mut files: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for (at, r) in &self.pieces {
            files.entry(&at.file).or_default().push(object(vec![
                ("line", number(at.line)),
                ("kind", Value::from(at.piece.name())),
                ("policy", Value::from(&*r.policy)),
                ("rule", Value::from(&*r.rule)),
                ("path", Value::from(&*at.path)),
                ("hits", Value::Int(i64::try_from(r.hits).unwrap_or(i64::MAX))),
            ]));
        }
        let files = files
            .into_iter()
            .map(|(file, lines)| object(vec![("file", Value::from(file)), ("lines", Value::list(lines))]));
        let totals = [Piece::Rule, Piece::Condition, Piece::Leaf].map(|piece| {
            let (reached, all) = self.count(piece);
            (piece.name(), object(vec![("reached", number(reached)), ("found", number(all))]))
        });
        object(vec![("summary", object(totals.to_vec())), ("files", Value::list(files.collect()))])
    }
}

/// The walk through a policy.
struct CoverageWalk<'w> {
    loaded: &'w LoadedPolicy,
    policy: &'w Policy,
    hits: &'w Hits,
    rule: String,
    coverage: &'w mut Coverage,
}

impl CoverageWalk<'_> {
    fn found(&mut self, piece: Piece, path: &[PathPart], hits: u64) {
        let place = (0..=path.len()).rev().find_map(|n| {
            let part = path.get(..n).unwrap_or_default();
            locate_key(&self.loaded.text, part).or_else(|| locate(&self.loaded.text, part))
        });
        let line = self.loaded.line + place.map_or(0, |p| p.line.saturating_sub(1));
        let at = At { file: self.loaded.source.to_string(), line, path: dotted(path), piece };
        let (policy, rule) = (self.policy.key(), self.rule.clone());
        let sum = self.coverage.pieces.entry(at).or_insert(Reached { policy, rule, hits: 0 });
        sum.hits = sum.hits.saturating_add(hits);
    }

    fn rule(&mut self, rule: &Rule, ran: u64) {
        if rule.generated.is_none() {
            self.rule = rule.name.to_string();
        } else {
            let written = self.policy.rules.iter().find(|r| r.origin.path == rule.origin.path);
            self.rule = written.map_or(&rule.name, |r| &r.name).to_string();
        }
        self.found(Piece::Rule, &parse(&rule.origin.path), ran);
        self.conditions(rule.admit.as_ref());
        match &rule.body {
            Body::Validate { check, .. } => self.check(check),
            Body::Mutate(mutation) => {
                for target in mutation.targets.iter().flatten() {
                    self.conditions(target.admit.as_ref());
                }
                if let Change::ForEach(loops) = &mutation.change {
                    loops.iter().for_each(|l| self.conditions(l.admit.as_ref()));
                }
            }
            _ => {}
        }
    }

    fn conditions(&mut self, conditions: Option<&Conditions>) {
        let Some(c) = conditions else { return };
        let all = c.any.iter().flatten().chain(&c.all);
        let all: Vec<&Condition> = all.collect();
        for condition in all {
            let hits = self.hits.of(condition);
            self.found(Piece::Condition, &parse(&condition.origin.path), hits);
        }
    }

    fn check(&mut self, check: &Check) {
        match check {
            Check::Deny(conditions) => self.conditions(Some(conditions)),
            Check::Assert(_) | Check::PodSecurity(_) => {}
            Check::Pattern(overlay, origin) => match overlay {
                Overlay::Ready(pattern) => self.shape(&pattern.root, origin, &mut Vec::new()),
                Overlay::Dynamic(..) => {
                    let hits = self.hits.of(overlay);
                    self.found(Piece::Leaf, &parse(&origin.path), hits);
                }
                Overlay::Broken(_) => {}
            },
            Check::AnyPattern(overlays, origin) => match overlays {
                Overlays::Ready(patterns) => {
                    for (i, pattern) in patterns.iter().enumerate() {
                        self.shape(&pattern.root, &origin.index(i), &mut Vec::new());
                    }
                }
                Overlays::Dynamic(..) => {
                    let hits = self.hits.of(overlays);
                    self.found(Piece::Leaf, &parse(&origin.path), hits);
                }
                Overlays::Broken(_) => {}
            },
            Check::ForEach(loops) => {
                for ForEach { admit, check, .. } in loops {
                    self.conditions(admit.as_ref());
                    self.check(check);
                }
            }
            Check::Nothing => {}
        }
    }

    fn shape(&mut self, shape: &Shape, origin: &Origin, steps: &mut Vec<PathPart>) {
        match shape {
            Shape::Leaf(leaf) => self.leaf(leaf, origin, steps),
            Shape::Map(map) => self.map(map, origin, steps),
            Shape::List(ListShape::Empty(_)) => {}
            Shape::List(ListShape::Each(map, _)) => {
                steps.push(PathPart::Index(0));
                self.map(map, origin, steps);
                steps.pop();
            }
            Shape::List(ListShape::Scalars(leaf, _)) => {
                steps.push(PathPart::Index(0));
                self.leaf(leaf, origin, steps);
                steps.pop();
            }
            Shape::List(ListShape::Positions(shapes)) => {
                for (i, shape) in shapes.iter().enumerate() {
                    steps.push(PathPart::Index(i));
                    self.shape(shape, origin, steps);
                    steps.pop();
                }
            }
        }
    }

    fn map(&mut self, map: &MapShape, origin: &Origin, steps: &mut Vec<PathPart>) {
        if map.expand {
            // It is rebuilt for each object: its leaves are reached with it.
            let hits = self.hits.of(map);
            for entry in &map.entries {
                steps.push(PathPart::Key(entry.raw.clone()));
                self.found(Piece::Leaf, &origin.below(steps), hits);
                steps.pop();
            }
            return;
        }
        for entry in &map.entries {
            steps.push(PathPart::Key(entry.raw.clone()));
            self.shape(&entry.shape, origin, steps);
            steps.pop();
        }
    }

    fn leaf(&mut self, leaf: &Leaf, origin: &Origin, steps: &[PathPart]) {
        let hits = self.hits.of(leaf);
        self.found(Piece::Leaf, &origin.below(steps), hits);
    }
}
