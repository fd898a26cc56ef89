//! Trees of operators, written with as few parentheses as they need.

use proptest::prelude::*;

use super::{ALL, parse, shape};

#[derive(Clone, Debug)]
enum Tree {
    Name(char),
    Binary(&'static str, Box<Tree>, Box<Tree>),
    Not(Box<Tree>),
    Choice(Box<Tree>, Box<Tree>, Box<Tree>),
    Field(Box<Tree>, char),
}

/// Each row binds stronger than the one before.
const OPERATORS: [&[&str]; 5] =
    [&["||"], &["&&"], &["<", "<=", ">", ">=", "==", "!=", "in"], &["+", "-"], &["*", "/", "%"]];
const CHOICE: usize = 0;
const UNARY: usize = 6;
const MEMBER: usize = 7;

impl Tree {
    fn strength(&self) -> usize {
        match self {
            Tree::Name(_) | Tree::Field(..) => MEMBER,
            Tree::Not(_) => UNARY,
            Tree::Choice(..) => CHOICE,
            Tree::Binary(op, ..) => 1 + OPERATORS.iter().position(|row| row.contains(op)).unwrap(),
        }
    }

    /// The text, in parentheses if it binds weaker than it must.
    fn at_least(&self, strength: usize) -> String {
        let text = self.minimal();
        if self.strength() < strength { format!("({text})") } else { text }
    }

    fn minimal(&self) -> String {
        let own = self.strength();
        match self {
            Tree::Name(c) => c.to_string(),
            // Chains of these are balanced: parentheses keep what was nested as it is.
            Tree::Binary(op @ ("&&" | "||"), a, b) => {
                format!("{} {op} {}", a.at_least(own + 1), b.at_least(own + 1))
            }
            Tree::Binary(op, a, b) => format!("{} {op} {}", a.at_least(own), b.at_least(own + 1)),
            Tree::Not(a) => format!("!{}", a.at_least(MEMBER)),
            Tree::Choice(a, b, c) => format!("{} ? {} : {}", a.at_least(1), b.at_least(1), c.minimal()),
            Tree::Field(a, c) => format!("{}.{c}", a.at_least(MEMBER)),
        }
    }

    fn full(&self) -> String {
        match self {
            Tree::Name(c) => c.to_string(),
            Tree::Binary(op, a, b) => format!("(({}) {op} ({}))", a.full(), b.full()),
            Tree::Not(a) => format!("(!({}))", a.full()),
            Tree::Choice(a, b, c) => format!("(({}) ? ({}) : ({}))", a.full(), b.full(), c.full()),
            Tree::Field(a, c) => format!("(({}).{c})", a.full()),
        }
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    let operator = prop::sample::select(OPERATORS.concat());
    let name = prop::char::range('a', 'e');
    name.clone().prop_map(Tree::Name).prop_recursive(6, 40, 3, move |inner| {
        let boxed = move || inner.clone().prop_map(Box::new);
        prop_oneof![
            6 => (operator.clone(), boxed(), boxed()).prop_map(|(op, a, b)| Tree::Binary(op, a, b)),
            1 => boxed().prop_map(Tree::Not),
            1 => (boxed(), boxed(), boxed()).prop_map(|(a, b, c)| Tree::Choice(a, b, c)),
            1 => (boxed(), name.clone()).prop_map(|(a, c)| Tree::Field(a, c)),
        ]
    })
}

proptest! {
    #[test]
    fn parentheses_that_strength_implies_change_no_tree(tree in trees()) {
        let tree_of = |source: &str| shape(&parse(source, ALL).unwrap());
        prop_assert_eq!(tree_of(&tree.minimal()), tree_of(&tree.full()), "{}", tree.minimal());
    }
}
