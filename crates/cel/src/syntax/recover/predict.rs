//! Choosing a way by looking ahead, as far as it takes.
//!
//! In: a state with several ways and the tokens. Out: the way, or the token at which none is left.
//! First without regard to who entered the rule; where that leaves several ways that cannot be
//! distinguished, again with it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;

use super::network::{Edge, Network, Rule, State, StateKind, bit};
use crate::syntax::lexer::{Tok, Token};

/// States to go back to, the innermost first.
type Stack = Option<Rc<Frame>>;

#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Frame {
    to: State,
    below: Stack,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Config {
    at: State,
    way: usize,
    stack: Stack,
    /// It left the rule in which the choice is.
    outside: bool,
    /// It left it to a caller that takes the weakest operators.
    unfiltered: bool,
}

/// A choice.
pub struct Choice<'a, 's> {
    pub network: &'a Network,
    pub tokens: &'a [Token<'s>],
    /// The position of the first token.
    pub first: usize,
    /// The state.
    pub at: State,
    /// The states behind the rules that are entered, innermost last.
    pub callers: &'a [State],
    /// The weakest operator that the rule may take.
    pub strength: u32,
    /// Whether the choice is whether one more operator comes.
    pub operators: bool,
}

/// The token at which no way is left.
pub struct Stuck(pub usize);

impl Choice<'_, '_> {
    /// The way, from 1.
    pub fn predict(&self) -> Result<usize, Stuck> {
        self.run(false).map(|way| way.unwrap_or(1))
    }

    fn token(&self, at: usize) -> Tok {
        self.tokens.get(at).map_or(Tok::Eof, |t| t.kind)
    }

    /// `None` when it takes a read the callers.
    fn run(&self, full: bool) -> Result<Option<usize>, Stuck> {
        let mut configs = self.start(full);
        let mut at = self.first;
        loop {
            let token = self.token(at);
            let next = self.reach(&configs, token, full);
            if next.is_empty() {
                // Ways that leave the rule may continue elsewhere.
                let left = configs.iter().filter(|c| c.outside || self.is_stop(c.at) && c.stack.is_none());
                return left.map(|c| c.way).min().map(Some).ok_or(Stuck(at));
            }
            let ways: BTreeSet<usize> = next.iter().map(|c| c.way).collect();
            if let (1, Some(way)) = (ways.len(), ways.first()) {
                return Ok(Some(*way));
            }
            let subsets = subsets(&next, full);
            if full {
                let least: BTreeSet<usize> = subsets.iter().filter_map(|s| s.first().copied()).collect();
                if let (1, Some(way)) = (least.len(), least.first()) {
                    return Ok(Some(*way));
                }
            } else if next.iter().all(|c| self.is_stop(c.at)) || conflicts(&next, &subsets) {
                return Ok(ways.first().copied());
            }
            configs = next;
            if token == Tok::Eof {
                return Ok(ways.first().copied());
            }
            at += 1;
        }
    }

    fn is_stop(&self, at: State) -> bool {
        self.network.kinds.get(at) == Some(&StateKind::Stop)
    }

    fn rule(&self) -> Option<Rule> {
        self.network.rule_of.get(self.at).copied()
    }

    fn start(&self, full: bool) -> Vec<Config> {
        let mut bottom: Stack = None;
        if full {
            for to in self.callers {
                bottom = Some(Rc::new(Frame { to: *to, below: bottom }));
            }
        }
        let mut out = Vec::new();
        for (i, edge) in self.network.edges.get(self.at).into_iter().flatten().enumerate() {
            let Edge::Free(to, _) = edge else { continue };
            let config =
                Config { at: *to, way: i + 1, stack: bottom.clone(), outside: false, unfiltered: false };
            let mut walk = Walk { choice: self, full, ends: false, seen: HashSet::new(), out: &mut out };
            walk.closure(config, Some(0));
        }
        if self.operators {
            let own: HashSet<(State, Stack)> =
                out.iter().filter(|c| c.way == 1).map(|c| (c.at, c.stack.clone())).collect();
            out.retain(|c| c.way == 1 || c.unfiltered || !own.contains(&(c.at, c.stack.clone())));
        }
        out
    }

    fn reach(&self, from: &[Config], token: Tok, full: bool) -> Vec<Config> {
        let mut read = Vec::new();
        let mut stopped = Vec::new();
        for config in from {
            if self.is_stop(config.at) {
                if full || token == Tok::Eof {
                    stopped.push(config.clone());
                }
                continue;
            }
            for edge in self.network.edges.get(config.at).into_iter().flatten() {
                if let Edge::Read(set, to) = edge
                    && set & bit(token) != 0
                {
                    read.push(Config { at: *to, ..config.clone() });
                }
            }
        }
        let one_way = read.iter().all(|c| Some(c.way) == read.first().map(|f| f.way));
        let mut out = Vec::new();
        if stopped.is_empty() && token != Tok::Eof && one_way {
            out = read;
        } else {
            let mut walk =
                Walk { choice: self, full, ends: token == Tok::Eof, seen: HashSet::new(), out: &mut out };
            for config in read {
                walk.closure(config, None);
            }
        }
        if token == Tok::Eof {
            out.retain(|c| self.is_stop(c.at));
        }
        if !full || !out.iter().any(|c| self.is_stop(c.at)) {
            out.extend(stopped);
        }
        out
    }
}

/// Following ways that read nothing.
struct Walk<'w, 'a, 's> {
    choice: &'w Choice<'a, 's>,
    full: bool,
    ends: bool,
    seen: HashSet<Config>,
    out: &'w mut Vec<Config>,
}

impl Walk<'_, '_, '_> {
    /// `depth`: how many rules were entered; below zero when left; `None` when operators do not
    /// matter.
    fn closure(&mut self, config: Config, depth: Option<i32>) {
        if !self.seen.insert(config.clone()) {
            return;
        }
        let network = self.choice.network;
        let edges = network.edges.get(config.at).map(Vec::as_slice).unwrap_or_default();
        if self.choice.is_stop(config.at) {
            if let Some(frame) = &config.stack {
                let next = Config { at: frame.to, stack: frame.below.clone(), ..config.clone() };
                return self.closure(next, depth.map(|d| d - 1));
            }
            if self.full || edges.is_empty() {
                self.out.push(config);
                return;
            }
            let rule = self.choice.rule();
            for edge in edges {
                let Edge::Free(to, weakest) = edge else { continue };
                let unfiltered =
                    config.unfiltered || self.choice.operators && weakest.is_some() && *weakest == rule;
                let next = Config { at: *to, outside: true, unfiltered, ..config.clone() };
                self.closure(next, depth.map(|d| d - 1));
            }
            return;
        }
        let mut reads = false;
        for edge in edges {
            match edge {
                Edge::Free(to, _) => self.closure(Config { at: *to, ..config.clone() }, depth),
                Edge::Strength(strength, to) => {
                    let matters = depth == Some(0) && (self.choice.operators || self.full);
                    if !matters || *strength >= self.choice.strength {
                        self.closure(Config { at: *to, ..config.clone() }, depth);
                    }
                }
                Edge::Enter(rule, _, then) => {
                    let Some((start, ..)) = network.rules.get(*rule as usize) else { continue };
                    let stack = Some(Rc::new(Frame { to: *then, below: config.stack.clone() }));
                    let depth = depth.map(|d| if d >= 0 { d + 1 } else { d });
                    self.closure(Config { at: *start, stack, ..config.clone() }, depth);
                }
                Edge::Read(set, to) => {
                    reads = true;
                    if self.ends && set & bit(Tok::Eof) != 0 {
                        self.closure(Config { at: *to, ..config.clone() }, depth);
                    }
                }
            }
        }
        if reads {
            self.out.push(config);
        }
    }
}

/// The ways of configurations that nothing distinguishes any more.
fn subsets(configs: &[Config], full: bool) -> Vec<BTreeSet<usize>> {
    let mut stacks: BTreeMap<(State, usize), BTreeSet<Stack>> = BTreeMap::new();
    for c in configs {
        stacks.entry((c.at, c.way)).or_default().insert(c.stack.clone());
    }
    let mut groups: BTreeMap<(State, BTreeSet<Stack>), BTreeSet<usize>> = BTreeMap::new();
    for ((at, way), set) in stacks {
        let set = if full { set } else { without_longer(set) };
        groups.entry((at, set)).or_default().insert(way);
    }
    groups.into_values().collect()
}

/// A stack that ends stands for all that begin like it.
fn without_longer(set: BTreeSet<Stack>) -> BTreeSet<Stack> {
    let begins = |longer: &Stack, shorter: &Stack| {
        let (mut a, mut b) = (longer, shorter);
        loop {
            match (a, b) {
                (Some(x), Some(y)) if x.to == y.to => (a, b) = (&x.below, &y.below),
                (Some(_), None) => return true,
                _ => return false,
            }
        }
    };
    set.iter().filter(|s| !set.iter().any(|other| begins(s, other))).cloned().collect()
}

fn conflicts(configs: &[Config], subsets: &[BTreeSet<usize>]) -> bool {
    let mut ways: BTreeMap<State, BTreeSet<usize>> = BTreeMap::new();
    for c in configs {
        ways.entry(c.at).or_default().insert(c.way);
    }
    subsets.iter().any(|s| s.len() > 1) && ways.values().all(|w| w.len() > 1)
}
