//! What is wrong with a text that does not parse.
//!
//! In: the tokens of a text that the parser refused. Out: all issues, in the words of cel-go. Its
//! parser continues after an error: it drops a token that is too many, synthesises one that is
//! missing, or skips to where some rule that it is in can continue. What it finds then is found
//! here in the same way: the grammar is a network of states ([`network`]), choices look ahead as
//! far as they must ([`predict`]), and the tree that remains is searched for what else is wrong
//! ([`visit`]).
//!
//! - `network`: the grammar as a network of states
//! - `predict`: choosing a way by looking ahead, as far as it takes
//! - `visit`: what else is wrong with a text that parsed in parts

mod network;
mod predict;
mod visit;

use ephor_value::parallel;

use crate::ast::Place;
use crate::issue::{Issue, NOWHERE};
use crate::syntax::lexer::{Tok, Token, blank};
use crate::syntax::options::{MAX_DEPTH, Options};

use network::{EPSILON, Network, RULES, Rule, RulePart, Set, State, StateKind, bit};
use predict::{Choice, Stuck};

/// How often cel-go recovers, and how far it skips.
const MAX_RECOVERIES: usize = 30;
const MAX_SKIPPED: usize = 256;
/// How many syntax errors it reports.
const MAX_REPORTS: usize = 100;
/// Deeply nested texts are parsed on a stack of their own.
const STACK: usize = 256 << 20;

/// All issues of a text that does not parse. `found` are those of its tokens.
pub fn issues(source: &str, tokens: &[Token<'_>], found: Vec<Issue>, options: Options) -> Vec<Issue> {
    let fallback = found.clone();
    parallel::on_a_stack(STACK, move || run(source, tokens, found, options)).unwrap_or(fallback)
}

fn run(source: &str, tokens: &[Token<'_>], found: Vec<Issue>, options: Options) -> Vec<Issue> {
    let mut parser = RecoveringParser {
        source,
        network: network::network(),
        tokens,
        next: 0,
        state: 0,
        callers: Vec::new(),
        strengths: Vec::new(),
        depths: [0; RULES],
        skipped: found.iter().filter_map(skipped).collect(),
        reports: found.len(),
        issues: found,
        recovering: false,
        last_stop: None,
        recoveries: 0,
    };
    match parser.rule(Rule::Start, 0) {
        Ok(tree) => {
            let issues = std::mem::take(&mut parser.issues);
            visit::visit(&tree, issues, options)
        }
        Err(End::Depth) => {
            let text = format!("expression recursion limit exceeded: {MAX_DEPTH}");
            parser.issues.push(Issue::new(NOWHERE, text));
            parser.issues
        }
        Err(End::Skipped) => {
            let text = format!("error recovery token lookahead limit exceeded: {MAX_SKIPPED}");
            parser.issues.push(Issue::new(NOWHERE, text));
            parser.issues
        }
        Err(End::Enough) => parser.issues,
    }
}

/// The place and the length of what an issue says is no token.
fn skipped(issue: &Issue) -> Option<(usize, usize)> {
    let text = issue.text.strip_prefix("Syntax error: token recognition error at: '")?;
    Some((issue.at as usize, text.len().checked_sub(1)?.max(1)))
}

/// Why parsing ends early.
enum End {
    Depth,
    Skipped,
    Enough,
}

/// Why a rule is left: an error in it, or the end of everything.
enum Leave {
    Error(Error),
    End(End),
}

impl From<End> for Leave {
    fn from(end: End) -> Leave {
        Leave::End(end)
    }
}

/// An error in a rule.
enum Error {
    /// The next token is none that fits.
    Mismatch(usize, State, Vec<State>),
    /// From one token to another one nothing fits.
    Nothing(usize, usize),
    /// An operator is too weak here.
    Weak(Rule, u32),
}

/// What remains of a rule.
#[derive(Debug)]
struct Tree<'s> {
    rule: Rule,
    /// Which of its alternatives it is.
    name: &'static str,
    /// Its first token.
    at: Place,
    items: Vec<(&'static str, Item<'s>)>,
}

impl Tree<'_> {
    /// Makes what was read so far the left side of the next operator.
    fn nest(&mut self) {
        let items = std::mem::take(&mut self.items);
        let left = Tree { rule: self.rule, name: self.name, at: self.at, items };
        self.name = "";
        self.items.push(("left", Item::Tree(left)));
    }
}

#[derive(Debug)]
enum Item<'s> {
    Token(Token<'s>),
    /// A synthesised token.
    Made(String, Place),
    Tree(Tree<'s>),
}

struct RecoveringParser<'p, 's> {
    source: &'s str,
    network: &'static Network,
    tokens: &'p [Token<'s>],
    next: usize,
    state: State,
    /// For each rule that was entered, the state that entered it.
    callers: Vec<State>,
    strengths: Vec<u32>,
    depths: [usize; RULES],
    issues: Vec<Issue>,
    /// What is no token: where, and how long.
    skipped: Vec<(usize, usize)>,
    reports: usize,
    recovering: bool,
    /// Where recovery ended last, and the states that it ended in.
    last_stop: Option<(usize, Vec<State>)>,
    recoveries: usize,
}

impl<'s> RecoveringParser<'_, 's> {
    fn token(&self, ahead: usize) -> Token<'s> {
        let last = Token { kind: Tok::Eof, at: 0, text: "<EOF>" };
        self.tokens.get(self.next + ahead).or(self.tokens.last()).copied().unwrap_or(last)
    }

    fn peek(&self) -> Tok {
        self.token(0).kind
    }

    fn consume(&mut self) {
        if self.peek() != Tok::Eof {
            self.next += 1;
        }
    }

    /// The states behind the rules that were entered, the innermost last.
    fn behind(&self) -> Vec<State> {
        self.callers.iter().filter_map(|at| self.network.behind(*at)).collect()
    }

    fn report(&mut self, at: Place, text: &str) -> Result<(), End> {
        if self.reports >= MAX_REPORTS {
            let text = format!("Syntax error: More than {MAX_REPORTS} syntax errors");
            self.issues.push(Issue::new(at, text));
            return Err(End::Enough);
        }
        self.reports += 1;
        self.issues.push(Issue::new(at, format!("Syntax error: {text}")));
        Ok(())
    }

    /// Runs a rule from its start.
    fn rule(&mut self, rule: Rule, strength: u32) -> Result<Tree<'s>, End> {
        let depth = self.depths.get_mut(rule as usize);
        if let Some(depth) = depth {
            *depth += 1;
            if *depth > MAX_DEPTH {
                return Err(End::Depth);
            }
        }
        self.strengths.push(strength);
        let mut tree = Tree { rule, name: "", at: self.token(0).at, items: Vec::new() };
        let network = self.network;
        let parts =
            network.rules.get(rule as usize).map(|(_, _, parts)| parts.as_slice()).unwrap_or_default();
        match self.parts(parts, &mut tree) {
            Ok(()) => {}
            Err(Leave::End(end)) => return Err(end),
            Err(Leave::Error(error)) => {
                self.report_error(&error)?;
                self.recover()?;
            }
        }
        self.strengths.pop();
        if let Some(depth) = self.depths.get_mut(rule as usize) {
            *depth = depth.saturating_sub(1);
        }
        Ok(tree)
    }

    fn parts(&mut self, parts: &[RulePart], tree: &mut Tree<'s>) -> Result<(), Leave> {
        parts.iter().try_for_each(|part| self.part(part, tree))
    }

    fn part(&mut self, part: &RulePart, tree: &mut Tree<'s>) -> Result<(), Leave> {
        match part {
            RulePart::Read(state, set, label) => {
                self.state = *state;
                let item = self.read(*set)?;
                tree.items.push((label, item));
            }
            RulePart::Enter(state, rule, strength, label) => {
                self.state = *state;
                self.callers.push(*state);
                let inner = self.rule(*rule, *strength)?;
                if let Some(caller) = self.callers.pop() {
                    self.state = caller;
                }
                tree.items.push((label, Item::Tree(inner)));
            }
            RulePart::Strength(state, strength) => {
                self.state = *state;
                if *strength < self.strengths.last().copied().unwrap_or(0) {
                    return Err(Leave::Error(Error::Weak(tree.rule, *strength)));
                }
            }
            RulePart::Maybe(start, set, inner) => {
                self.state = *start;
                self.sync()?;
                if set & bit(self.peek()) != 0 {
                    self.parts(inner, tree)?;
                }
            }
            RulePart::Repeat(entry, back, set, inner) => {
                let mut at = *entry;
                loop {
                    self.state = at;
                    self.sync()?;
                    let more = match set {
                        Some(set) => set & bit(self.peek()) != 0,
                        None => self.choose(*entry)? == 1,
                    };
                    if !more {
                        break;
                    }
                    if tree.rule == Rule::Relation {
                        tree.nest();
                    }
                    self.parts(inner, tree)?;
                    at = *back;
                }
            }
            RulePart::Several(start, back, set, inner) => {
                self.state = *start;
                self.sync()?;
                loop {
                    self.parts(inner, tree)?;
                    self.state = *back;
                    self.sync()?;
                    let more = match set {
                        Some(set) => set & bit(self.peek()) != 0,
                        None => self.choose(*back)? == 1,
                    };
                    if !more {
                        break;
                    }
                }
            }
            RulePart::Choice(start, decided, ways) => {
                self.state = *start;
                self.sync()?;
                let way = if *decided { self.way_of(*start)? } else { self.choose(*start)? };
                let Some((name, inner)) = ways.get(way.saturating_sub(1)) else { return Ok(()) };
                if matches!(tree.rule, Rule::Calc | Rule::Member) {
                    tree.nest();
                }
                tree.name = name;
                self.parts(inner, tree)?;
            }
        }
        Ok(())
    }

    /// The way that the next token begins.
    fn way_of(&self, start: State) -> Result<usize, Leave> {
        let here = bit(self.peek());
        let begins = |edge: &network::Edge| match edge {
            network::Edge::Free(to, _) => self.network.next(*to, None) & here != 0,
            _ => false,
        };
        let edges = self.network.edges.get(start).map(Vec::as_slice).unwrap_or_default();
        match edges.iter().position(begins) {
            Some(way) => Ok(way + 1),
            None => Err(Leave::Error(Error::Nothing(self.next, self.next))),
        }
    }

    fn choose(&self, at: State) -> Result<usize, Leave> {
        let callers = self.behind();
        let operators = self.network.kinds.get(at) == Some(&StateKind::LoopEntry)
            && self
                .network
                .rule_of
                .get(at)
                .is_some_and(|r| matches!(r, Rule::Relation | Rule::Calc | Rule::Member));
        let choice = Choice {
            network: self.network,
            tokens: self.tokens,
            first: self.next,
            at,
            callers: &callers,
            strength: self.strengths.last().copied().unwrap_or(0),
            operators,
        };
        choice.predict().map_err(|Stuck(at)| Leave::Error(Error::Nothing(self.next, at)))
    }

    /// Reads one of some tokens, or repairs.
    fn read(&mut self, set: Set) -> Result<Item<'s>, Leave> {
        if set & bit(self.peek()) == 0 {
            return self.repair();
        }
        let token = self.token(0);
        self.matched();
        self.consume();
        Ok(Item::Token(token))
    }

    fn matched(&mut self) {
        self.recovering = false;
        self.last_stop = None;
    }

    fn count_recovery(&mut self) -> Result<(), End> {
        if self.recoveries >= MAX_RECOVERIES {
            let text = format!("error recovery attempt limit exceeded: {MAX_RECOVERIES}");
            let at = self.token(0).at;
            self.report(at, &text)?;
            return Err(End::Enough);
        }
        self.recoveries += 1;
        Ok(())
    }

    fn repair(&mut self) -> Result<Item<'s>, Leave> {
        self.count_recovery()?;
        if self.drop_one()? {
            let token = self.token(0);
            self.consume();
            return Ok(Item::Token(token));
        }
        // A token is synthesised when the next one could come behind it.
        let here = bit(self.peek());
        let behind = match self.network.edges.get(self.state).and_then(|e| e.first()) {
            Some(network::Edge::Read(_, to)) => self.network.next(*to, Some(&self.behind())),
            _ => 0,
        };
        if behind & here != 0 {
            let wanted = render(self.expected());
            let token = self.token(0);
            if !self.recovering {
                self.recovering = true;
                let text = format!("missing {wanted} at {}", quoted(token.text));
                self.report(token.at, &text)?;
            }
            let first = first_shown(self.expected());
            return Ok(Item::Made(format!("<missing {first}>"), token.at));
        }
        Err(Leave::Error(Error::Mismatch(self.next, self.state, self.behind())))
    }

    /// Drops the next token when the one behind it fits.
    fn drop_one(&mut self) -> Result<bool, End> {
        if self.expected() & bit(self.token(1).kind) == 0 {
            return Ok(false);
        }
        self.unwanted()?;
        self.consume();
        self.matched();
        Ok(true)
    }

    fn unwanted(&mut self) -> Result<(), End> {
        if self.recovering {
            return Ok(());
        }
        self.recovering = true;
        let token = self.token(0);
        let text = format!("extraneous input {} expecting {}", quoted(token.text), render(self.expected()));
        self.report(token.at, &text)
    }

    /// The tokens that fit in this state.
    fn expected(&self) -> Set {
        expected(self.network, self.state, &self.behind())
    }

    /// Looks whether the next token fits before a part that may be left out.
    fn sync(&mut self) -> Result<(), Leave> {
        if self.recovering {
            return Ok(());
        }
        let next = self.network.next(self.state, None);
        if next & (EPSILON | bit(self.peek())) != 0 {
            return Ok(());
        }
        match self.network.kinds.get(self.state) {
            Some(StateKind::BlockStart | StateKind::LoopEntry) => {
                if self.drop_one()? {
                    return Ok(());
                }
                Err(Leave::Error(Error::Mismatch(self.next, self.state, self.behind())))
            }
            Some(StateKind::LoopBack) => {
                self.unwanted()?;
                let until = self.expected() | self.recovery_set();
                Ok(self.skip_until(until, None)?)
            }
            _ => Ok(()),
        }
    }

    /// What can follow in any of the rules that were entered.
    fn recovery_set(&self) -> Set {
        let all = self.behind().iter().fold(0, |set, at| set | self.network.next(*at, None));
        all & !EPSILON
    }

    fn skip_until(&mut self, set: Set, limit: Option<usize>) -> Result<(), End> {
        let mut skipped = 0;
        while self.peek() != Tok::Eof && set & bit(self.peek()) == 0 {
            if limit.is_some_and(|most| skipped >= most) {
                return Err(End::Skipped);
            }
            skipped += 1;
            self.consume();
        }
        Ok(())
    }

    fn recover(&mut self) -> Result<(), End> {
        self.count_recovery()?;
        let mut left = MAX_SKIPPED;
        let again = self
            .last_stop
            .as_ref()
            .is_some_and(|(at, states)| *at == self.next && states.contains(&self.state));
        if again {
            self.consume();
            left -= 1;
        }
        let states = match self.last_stop.take() {
            Some((_, mut states)) => {
                states.push(self.state);
                states
            }
            None => vec![self.state],
        };
        self.last_stop = Some((self.next, states));
        self.skip_until(self.recovery_set(), Some(left))
    }

    fn report_error(&mut self, error: &Error) -> Result<(), End> {
        if self.recovering {
            return Ok(());
        }
        self.recovering = true;
        match error {
            Error::Mismatch(at, state, behind) => {
                let token = self.tokens.get(*at).copied().unwrap_or_else(|| self.token(0));
                let wanted = render(expected(self.network, *state, behind));
                let text = format!("mismatched input {} expecting {wanted}", quoted(token.text));
                self.report(token.at, &text)
            }
            Error::Nothing(from, to) => {
                let place = self.tokens.get(*to).map_or(0, |t| t.at);
                let input = self.text(*from, *to);
                let text = match &*input {
                    // cel-go's words for literals after a dot.
                    ".true" => "mismatched input 'true' expecting IDENTIFIER".into(),
                    ".false" => "mismatched input 'false' expecting IDENTIFIER".into(),
                    ".null" => "mismatched input 'null' expecting IDENTIFIER".into(),
                    _ => format!("no viable alternative at input {}", quoted(&input)),
                };
                self.report(place, &text)
            }
            Error::Weak(rule, strength) => {
                let place = self.token(0).at;
                let name = format!("{rule:?}").to_lowercase();
                let text = format!(
                    "rule {name} failed predicate: {{p.Precpred(p.GetParserRuleContext(), {strength})}}?"
                );
                self.report(place, &text)
            }
        }
    }

    /// The text between two tokens with both, without what is no token.
    fn text(&self, from: usize, to: usize) -> String {
        let Some(first) = self.tokens.get(from) else { return String::new() };
        if first.kind == Tok::Eof {
            return "<EOF>".into();
        }
        let mut out = String::new();
        for at in from..=to {
            let Some(token) = self.tokens.get(at) else { break };
            if at > from {
                let before = self.tokens.get(at - 1).map_or(0, |t| t.at as usize + t.text.len());
                let mut gap = self.source.get(before..token.at as usize).unwrap_or_default();
                while !gap.is_empty() {
                    let here = token.at as usize - gap.len();
                    if let Some((_, len)) = self.skipped.iter().find(|(at, _)| *at == here) {
                        gap = gap.get(*len..).unwrap_or_default();
                        continue;
                    }
                    let skip = blank(gap);
                    if skip > 0 {
                        out.push_str(gap.get(..skip).unwrap_or_default());
                    }
                    let len = if skip > 0 { skip } else { gap.chars().next().map_or(1, char::len_utf8) };
                    gap = gap.get(len..).unwrap_or_default();
                }
            }
            if token.kind == Tok::Eof {
                break;
            }
            out.push_str(token.text);
        }
        out
    }
}

/// The tokens that fit in a state, with those behind the rules around it when its own can end.
fn expected(network: &Network, state: State, behind: &[State]) -> Set {
    let mut next = network.next(state, None);
    let mut all = next & !EPSILON;
    let mut callers = behind;
    while next & EPSILON != 0 {
        let Some((to, rest)) = callers.split_last() else { break };
        next = network.next(*to, None);
        all |= next & !EPSILON;
        callers = rest;
    }
    if next & EPSILON != 0 { all | bit(Tok::Eof) } else { all }
}

/// A text in quotes, with its line ends and tabs as escapes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r"))
}

/// Tokens as messages list them.
fn render(set: Set) -> String {
    let names: Vec<&str> = Tok::ALL.iter().filter(|t| set & bit(**t) != 0).map(|t| t.name()).collect();
    match &names[..] {
        [one] => (*one).into(),
        all => format!("{{{}}}", all.join(", ")),
    }
}

fn first_shown(set: Set) -> &'static str {
    Tok::ALL.iter().find(|t| set & bit(**t) != 0).map_or("", |t| t.name())
}
