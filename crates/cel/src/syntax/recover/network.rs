//! The grammar as a network of states.
//!
//! Rules are written as parts ([`RulePart`]); building gives every part its states, of the kinds
//! that ANTLR, the parser generator of cel-go, makes, because what a message says depends on them.

use std::sync::OnceLock;

use crate::syntax::lexer::Tok;

/// A set of tokens, a bit each.
pub type Set = u64;

/// Nothing more comes in this rule.
pub const EPSILON: Set = 1 << 63;

/// The set of one token.
pub const fn bit(tok: Tok) -> Set {
    1 << (tok as u64)
}

/// The rules of the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names of the grammar")]
pub enum Rule {
    Start,
    Expr,
    Or,
    And,
    Relation,
    Calc,
    Unary,
    Member,
    Primary,
    ExprList,
    ListInit,
    Fields,
    OptField,
    Entries,
    EscapeIdent,
    OptExpr,
    Literal,
}

/// How many rules there are.
pub const RULES: usize = 17;

/// The number of a state.
pub type State = usize;

/// The kinds of states that messages distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateKind {
    /// Any other.
    Basic,
    /// Before a choice.
    BlockStart,
    /// Before a loop's choice of one more round.
    LoopEntry,
    /// After a round.
    LoopBack,
    /// The end of a rule.
    Stop,
}

/// A way from a state.
#[derive(Clone, Copy, Debug)]
pub enum Edge {
    /// Nothing is read. From the end of a rule: whether its caller takes the weakest operators.
    Free(State, Option<Rule>),
    /// One of these tokens is read.
    Read(Set, State),
    /// A rule is entered, with the weakest operator that it may take, and then a state.
    Enter(Rule, u32, State),
    /// Operators of this strength follow.
    Strength(u32, State),
}

/// A part of a rule with its states.
#[derive(Clone, Debug)]
pub enum RulePart {
    /// One of some tokens, under a label.
    Read(State, Set, &'static str),
    /// A rule, under a label.
    Enter(State, Rule, u32, &'static str),
    /// Operators must be at least so strong.
    Strength(State, u32),
    /// Perhaps these; taken when the next token is in the set.
    Maybe(State, Set, Vec<RulePart>),
    /// As often as it comes: the entry, the state after a round, the tokens that begin a round when
    /// those alone decide.
    Repeat(State, State, Option<Set>, Vec<RulePart>),
    /// At least once: the start, the state after a round, and as before.
    Several(State, State, Option<Set>, Vec<RulePart>),
    /// One of some, each under a name; `true` when the next token alone decides.
    Choice(State, bool, Vec<(&'static str, Vec<RulePart>)>),
}

/// The network.
#[derive(Debug)]
pub struct Network {
    pub kinds: Vec<StateKind>,
    pub edges: Vec<Vec<Edge>>,
    pub rule_of: Vec<Rule>,
    /// By rule: its first state, its last state, its parts.
    pub rules: Vec<(State, State, Vec<RulePart>)>,
}

/// The network of CEL.
pub fn network() -> &'static Network {
    static NETWORK: OnceLock<Network> = OnceLock::new();
    NETWORK.get_or_init(|| NetworkBuilder::default().build())
}

/// What is written before states are known.
enum Plan {
    Read(Set, &'static str),
    Enter(Rule, u32, &'static str),
    Strength(u32),
    Maybe(Vec<Plan>),
    /// `true`: the next token decides.
    Repeat(bool, Vec<Plan>),
    Several(bool, Vec<Plan>),
    Choice(bool, Vec<(&'static str, Vec<Plan>)>),
}

fn t(tok: Tok, label: &'static str) -> Plan {
    Plan::Read(bit(tok), label)
}

fn r(rule: Rule, label: &'static str) -> Plan {
    Plan::Enter(rule, 0, label)
}

fn question() -> Plan {
    Plan::Maybe(vec![t(Tok::Question, "opt")])
}

fn comma() -> Plan {
    Plan::Maybe(vec![t(Tok::Comma, "")])
}

const RELATIONS: Set = bit(Tok::Less)
    | bit(Tok::LessEquals)
    | bit(Tok::GreaterEquals)
    | bit(Tok::Greater)
    | bit(Tok::Equals)
    | bit(Tok::NotEquals)
    | bit(Tok::In);

fn plan(rule: Rule) -> Vec<Plan> {
    use Plan::{Choice, Enter, Maybe, Read, Repeat, Several, Strength};
    use Rule::{And, Calc, Entries, EscapeIdent, Expr, ExprList, Fields, ListInit, Literal, Member};
    use Rule::{OptExpr, OptField, Or, Primary, Relation, Start, Unary};
    let signed = |tok| vec![Maybe(vec![t(Tok::Minus, "sign")]), t(tok, "tok")];
    let dot = || Maybe(vec![t(Tok::Dot, "dot")]);
    let id = || t(Tok::Ident, "id");
    match rule {
        Start => vec![r(Expr, "e"), t(Tok::Eof, "")],
        Expr => vec![
            r(Or, "e"),
            Maybe(vec![t(Tok::Question, "op"), r(Or, "e1"), t(Tok::Colon, ""), r(Expr, "e2")]),
        ],
        Or => vec![r(And, "e"), Repeat(true, vec![t(Tok::Or, "op"), r(And, "e1")])],
        And => vec![r(Relation, "e"), Repeat(true, vec![t(Tok::And, "op"), r(Relation, "e1")])],
        Relation => vec![
            r(Calc, "e"),
            Repeat(false, vec![Strength(1), Read(RELATIONS, "op"), Enter(Relation, 2, "e1")]),
        ],
        Calc => {
            let products = bit(Tok::Star) | bit(Tok::Slash) | bit(Tok::Percent);
            let additions = bit(Tok::Plus) | bit(Tok::Minus);
            vec![
                r(Unary, "e"),
                Repeat(
                    false,
                    vec![Choice(
                        false,
                        vec![
                            ("", vec![Strength(2), Read(products, "op"), Enter(Calc, 3, "e1")]),
                            ("", vec![Strength(1), Read(additions, "op"), Enter(Calc, 2, "e1")]),
                        ],
                    )],
                ),
            ]
        }
        Unary => vec![Choice(
            false,
            vec![
                ("member", vec![r(Member, "e")]),
                ("not", vec![Several(true, vec![t(Tok::Exclam, "op")]), r(Member, "e")]),
                ("negate", vec![Several(false, vec![t(Tok::Minus, "op")]), r(Member, "e")]),
            ],
        )],
        Member => vec![
            r(Primary, "e"),
            Repeat(
                false,
                vec![Choice(
                    false,
                    vec![
                        ("select", vec![Strength(3), t(Tok::Dot, "op"), question(), r(EscapeIdent, "id")]),
                        (
                            "call",
                            vec![
                                Strength(2),
                                t(Tok::Dot, "op"),
                                id(),
                                t(Tok::LParen, "open"),
                                Maybe(vec![r(ExprList, "args")]),
                                t(Tok::RParen, ""),
                            ],
                        ),
                        (
                            "index",
                            vec![
                                Strength(1),
                                t(Tok::LBracket, "op"),
                                question(),
                                r(Expr, "index"),
                                t(Tok::RBracket, ""),
                            ],
                        ),
                    ],
                )],
            ),
        ],
        Primary => vec![Choice(
            false,
            vec![
                ("ident", vec![dot(), id()]),
                (
                    "global",
                    vec![
                        dot(),
                        id(),
                        t(Tok::LParen, "op"),
                        Maybe(vec![r(ExprList, "args")]),
                        t(Tok::RParen, ""),
                    ],
                ),
                ("nested", vec![t(Tok::LParen, ""), r(Expr, "e"), t(Tok::RParen, "")]),
                (
                    "list",
                    vec![
                        t(Tok::LBracket, "op"),
                        Maybe(vec![r(ListInit, "elems")]),
                        comma(),
                        t(Tok::RBracket, ""),
                    ],
                ),
                (
                    "map",
                    vec![
                        t(Tok::LBrace, "op"),
                        Maybe(vec![r(Entries, "entries")]),
                        comma(),
                        t(Tok::RBrace, ""),
                    ],
                ),
                (
                    "message",
                    vec![
                        dot(),
                        id(),
                        Repeat(true, vec![t(Tok::Dot, ""), id()]),
                        t(Tok::LBrace, "op"),
                        Maybe(vec![r(Fields, "entries")]),
                        comma(),
                        t(Tok::RBrace, ""),
                    ],
                ),
                ("literal", vec![r(Literal, "e")]),
            ],
        )],
        ExprList => vec![r(Expr, "e"), Repeat(true, vec![t(Tok::Comma, ""), r(Expr, "e")])],
        ListInit => vec![r(OptExpr, "e"), Repeat(false, vec![t(Tok::Comma, ""), r(OptExpr, "e")])],
        Fields => {
            let one = || vec![r(OptField, "key"), t(Tok::Colon, "colon"), r(Expr, "value")];
            let mut all = one();
            let mut more = vec![t(Tok::Comma, "")];
            more.extend(one());
            all.push(Repeat(false, more));
            all
        }
        OptField => vec![question(), r(EscapeIdent, "id")],
        Entries => {
            let one = || vec![r(OptExpr, "key"), t(Tok::Colon, "colon"), r(Expr, "value")];
            let mut all = one();
            let mut more = vec![t(Tok::Comma, "")];
            more.extend(one());
            all.push(Repeat(false, more));
            all
        }
        EscapeIdent => {
            vec![Choice(true, vec![("simple", vec![id()]), ("escaped", vec![t(Tok::EscIdent, "id")])])]
        }
        OptExpr => vec![question(), r(Expr, "e")],
        Literal => vec![Choice(
            false,
            vec![
                ("", signed(Tok::Int)),
                ("", vec![t(Tok::Uint, "tok")]),
                ("", signed(Tok::Float)),
                ("", vec![t(Tok::Str, "tok")]),
                ("", vec![t(Tok::Bytes, "tok")]),
                ("", vec![t(Tok::True, "tok")]),
                ("", vec![t(Tok::False, "tok")]),
                ("", vec![t(Tok::Null, "tok")]),
            ],
        )],
    }
}

/// Every rule, in the order of its number.
pub const ALL: [Rule; RULES] = [
    Rule::Start,
    Rule::Expr,
    Rule::Or,
    Rule::And,
    Rule::Relation,
    Rule::Calc,
    Rule::Unary,
    Rule::Member,
    Rule::Primary,
    Rule::ExprList,
    Rule::ListInit,
    Rule::Fields,
    Rule::OptField,
    Rule::Entries,
    Rule::EscapeIdent,
    Rule::OptExpr,
    Rule::Literal,
];

#[derive(Default)]
struct NetworkBuilder {
    kinds: Vec<StateKind>,
    edges: Vec<Vec<Edge>>,
    rule_of: Vec<Rule>,
}

impl NetworkBuilder {
    fn state(&mut self, kind: StateKind, rule: Rule) -> State {
        self.kinds.push(kind);
        self.edges.push(Vec::new());
        self.rule_of.push(rule);
        self.kinds.len() - 1
    }

    fn edge(&mut self, from: State, edge: Edge) {
        if let Some(edges) = self.edges.get_mut(from) {
            edges.push(edge);
        }
    }

    fn free(&mut self, from: State, to: State) {
        self.edge(from, Edge::Free(to, None));
    }

    fn build(mut self) -> Network {
        let bounds: Vec<(State, State)> =
            ALL.iter().map(|r| (self.state(StateKind::Basic, *r), self.state(StateKind::Stop, *r))).collect();
        let mut rules = Vec::new();
        for (rule, (start, stop)) in ALL.into_iter().zip(&bounds) {
            let first = self.state(StateKind::Basic, rule);
            self.free(*start, first);
            let (parts, last) = self.parts(plan(rule), first, rule);
            self.free(last, *stop);
            rules.push((*start, *stop, parts));
        }
        // What follows a rule wherever it is entered.
        for at in 0..self.edges.len() {
            for edge in self.edges.get(at).cloned().unwrap_or_default() {
                if let Edge::Enter(rule, strength, then) = edge
                    && let Some((_, stop)) = bounds.get(rule as usize)
                {
                    let weakest = matches!(rule, Rule::Relation | Rule::Calc | Rule::Member) && strength == 0;
                    self.edge(*stop, Edge::Free(then, weakest.then_some(rule)));
                }
            }
        }
        let mut network = Network { kinds: self.kinds, edges: self.edges, rule_of: self.rule_of, rules };
        network.settle();
        network
    }

    /// Builds parts one behind the other; gives the state behind them.
    fn parts(&mut self, plans: Vec<Plan>, mut at: State, rule: Rule) -> (Vec<RulePart>, State) {
        let mut out = Vec::new();
        for plan in plans {
            let (part, next) = self.part(plan, at, rule);
            out.push(part);
            at = next;
        }
        (out, at)
    }

    fn part(&mut self, plan: Plan, at: State, rule: Rule) -> (RulePart, State) {
        let basic = |b: &mut NetworkBuilder| b.state(StateKind::Basic, rule);
        match plan {
            Plan::Read(set, label) => {
                let next = basic(self);
                self.edge(at, Edge::Read(set, next));
                (RulePart::Read(at, set, label), next)
            }
            Plan::Enter(entered, strength, label) => {
                let next = basic(self);
                self.edge(at, Edge::Enter(entered, strength, next));
                (RulePart::Enter(at, entered, strength, label), next)
            }
            Plan::Strength(strength) => {
                let next = basic(self);
                self.edge(at, Edge::Strength(strength, next));
                (RulePart::Strength(at, strength), next)
            }
            Plan::Maybe(inner) => {
                let start = self.state(StateKind::BlockStart, rule);
                self.free(at, start);
                let first = basic(self);
                self.free(start, first);
                let (parts, last) = self.parts(inner, first, rule);
                let end = basic(self);
                self.free(last, end);
                self.free(start, end);
                (RulePart::Maybe(start, 0, parts), end)
            }
            Plan::Repeat(decided, inner) => {
                let entry = self.state(StateKind::LoopEntry, rule);
                self.free(at, entry);
                let block = self.state(StateKind::BlockStart, rule);
                self.free(entry, block);
                let first = basic(self);
                self.free(block, first);
                let (parts, last) = self.parts(inner, first, rule);
                let back = self.state(StateKind::LoopBack, rule);
                self.free(last, back);
                self.free(back, entry);
                let end = basic(self);
                self.free(entry, end);
                (RulePart::Repeat(entry, back, decided.then_some(0), parts), end)
            }
            Plan::Several(decided, inner) => {
                let start = self.state(StateKind::BlockStart, rule);
                self.free(at, start);
                let first = basic(self);
                self.free(start, first);
                let (parts, last) = self.parts(inner, first, rule);
                let back = self.state(StateKind::LoopBack, rule);
                self.free(last, back);
                self.free(back, start);
                let end = basic(self);
                self.free(back, end);
                (RulePart::Several(start, back, decided.then_some(0), parts), end)
            }
            Plan::Choice(decided, alternatives) => {
                let start = self.state(StateKind::BlockStart, rule);
                self.free(at, start);
                let mut built = Vec::new();
                let mut ends = Vec::new();
                for (name, plans) in alternatives {
                    let first = basic(self);
                    self.free(start, first);
                    let (parts, last) = self.parts(plans, first, rule);
                    built.push((name, parts));
                    ends.push(last);
                }
                let end = basic(self);
                for last in ends {
                    self.free(last, end);
                }
                (RulePart::Choice(start, decided, built), end)
            }
        }
    }
}

impl Network {
    /// Fills in which tokens begin optional parts.
    fn settle(&mut self) {
        let mut rules = std::mem::take(&mut self.rules);
        // Entering rules is looked up while their parts are filled in.
        self.rules = rules.iter().map(|(start, stop, _)| (*start, *stop, Vec::new())).collect();
        for (_, _, parts) in &mut rules {
            self.settle_parts(parts);
        }
        self.rules = rules;
    }

    fn settle_parts(&self, parts: &mut [RulePart]) {
        for part in parts {
            match part {
                RulePart::Maybe(start, set, inner) => {
                    *set = self.first_way(*start);
                    self.settle_parts(inner);
                }
                RulePart::Repeat(entry, _, set, inner) => {
                    *set = set.map(|_| self.first_way(*entry));
                    self.settle_parts(inner);
                }
                RulePart::Several(start, _, set, inner) => {
                    *set = set.map(|_| self.first_way(*start));
                    self.settle_parts(inner);
                }
                RulePart::Choice(_, _, all) => all.iter_mut().for_each(|(_, inner)| self.settle_parts(inner)),
                RulePart::Read(..) | RulePart::Enter(..) | RulePart::Strength(..) => {}
            }
        }
    }

    /// The tokens that begin the first way from a state.
    fn first_way(&self, at: State) -> Set {
        match self.edges.get(at).and_then(|e| e.first()) {
            Some(Edge::Free(to, _)) => self.next(*to, None),
            _ => 0,
        }
    }

    /// The tokens that may come next in a state. At the end of its rule: [`EPSILON`], or what
    /// follows in the states of `callers` (innermost last).
    pub fn next(&self, at: State, callers: Option<&[State]>) -> Set {
        let mut seen = Vec::new();
        let mut out = 0;
        self.look(at, &mut Vec::new(), callers, &mut seen, &mut out);
        out
    }

    fn look(
        &self,
        at: State,
        own: &mut Vec<State>,
        callers: Option<&[State]>,
        seen: &mut Vec<(State, Vec<State>, usize)>,
        out: &mut Set,
    ) {
        let key = (at, own.clone(), callers.map_or(0, <[State]>::len));
        if seen.contains(&key) {
            return;
        }
        seen.push(key);
        if self.kinds.get(at) == Some(&StateKind::Stop) {
            if let Some(to) = own.pop() {
                self.look(to, own, callers, seen, out);
                own.push(to);
                return;
            }
            match callers {
                None => *out |= EPSILON,
                Some([]) => *out |= bit(Tok::Eof),
                Some([rest @ .., to]) => self.look(*to, own, Some(rest), seen, out),
            }
            return;
        }
        for edge in self.edges.get(at).map(Vec::as_slice).unwrap_or_default() {
            match edge {
                Edge::Free(to, _) | Edge::Strength(_, to) => self.look(*to, own, callers, seen, out),
                Edge::Read(set, _) => *out |= set,
                Edge::Enter(rule, _, then) => {
                    let Some((start, ..)) = self.rules.get(*rule as usize) else { continue };
                    own.push(*then);
                    self.look(*start, own, callers, seen, out);
                    own.pop();
                }
            }
        }
    }

    /// The state behind the rule that is entered in a state.
    pub fn behind(&self, at: State) -> Option<State> {
        match self.edges.get(at)?.first()? {
            Edge::Enter(_, _, then) => Some(*then),
            _ => None,
        }
    }
}
