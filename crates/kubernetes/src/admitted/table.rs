//! The rules of `rules.txt`.
//!
//! A line with the names of types, and below it a row for each group of fields: names, then rules
//! with `;` between them. The field `*` is the object itself. Rules: `free` (anything), `required`
//! (there and not empty), `expected` (nothing is recorded of objects without it), `absent` (nothing
//! is recorded of objects with it), `never` (no object has it), `enum A B`, `min N`,
//! `range LOW HIGH`, `max-length N`, `max-items N`, `unique KEY…` (items of a list, by keys or as
//! they are), `each RULE`, `keys RULE`, `values RULE`, `quantity-min N`, `int-or-percent`,
//! `port-or-name`, `or-empty RULE`, a form of text (`formats.rs`); of objects `one-of FIELD…`,
//! `some-of FIELD…`, `at-most-one FIELD…`, `when TEST needs|forbids FIELD…` with a test `FIELD`,
//! `!FIELD` or `FIELD=VALUE`.

use foldhash::{HashMap, HashMapExt};
use std::sync::OnceLock;

use ephor_value::Value;
use ephor_value::wildcard::has_wildcard;

const TABLE: &str = include_str!("rules.txt");

/// Names of fields, or texts.
pub type Words = Vec<&'static str>;

/// A rule.
#[derive(Clone, Debug)]
pub enum Rule {
    Free,
    Required,
    Expected,
    Absent,
    Never,
    Enum(Words),
    Range(i64, i64),
    MaxLength(usize),
    MaxItems(usize),
    Unique(Words),
    Each(Box<Rule>),
    Keys(Box<Rule>),
    Values(Box<Rule>),
    QuantityMin(i64),
    IntOrPercent,
    PortOrName,
    OrEmpty(Box<Rule>),
    Form(&'static str),
    OneOf(Words),
    SomeOf(Words),
    AtMostOne(Words),
    When { field: &'static str, test: Test, needs: bool, fields: Words },
}

/// Whether a rule of an object applies.
#[derive(Clone, Copy, Debug)]
pub enum Test {
    Present,
    Missing,
    Is(&'static str),
}

/// The rules of a type, by field.
#[derive(Debug, Default)]
pub struct Rules {
    fields: HashMap<&'static str, Vec<Rule>>,
}

impl Rules {
    /// The rules of a field; `None` when nothing is recorded of it.
    pub fn of(&self, field: &str) -> Option<&[Rule]> {
        self.fields.get(field).map(Vec::as_slice)
    }
}

/// The rules of a type, which are the same at all releases; what differs is in `ServerRules`.
pub fn rules(name: &str) -> Option<&'static Rules> {
    all().get(name)
}

/// The texts that a field of a type may be, where these are listed.
pub fn listed(name: &str, field: &str) -> &'static [&'static str] {
    fn of(rule: &Rule) -> Option<&[&'static str]> {
        match rule {
            Rule::Enum(words) => Some(words),
            Rule::OrEmpty(inner) => of(inner),
            _ => None,
        }
    }
    let found = all().get(name).and_then(|rules| rules.of(field));
    found.and_then(|rules| rules.iter().find_map(of)).unwrap_or_default()
}

/// The fields by which each item of a list differs from the others, where this is so.
pub fn unique_by(name: &str, field: &str) -> &'static [&'static str] {
    let found = all().get(name).and_then(|rules| rules.of(field));
    let keys = |rule: &'static Rule| match rule {
        Rule::Unique(keys) => Some(&**keys),
        _ => None,
    };
    found.and_then(|rules| rules.iter().find_map(keys)).unwrap_or_default()
}

/// Whether a field of a type may be a text, or have it among its items, as far as the rules of the
/// field alone say.
pub fn may_be(name: &str, field: &str, text: &str) -> bool {
    fn admits(rule: &Rule, text: &str) -> bool {
        match rule {
            Rule::Enum(words) => words.contains(&text),
            Rule::Form(form) => super::formats::fits(form, text) != Some(false),
            Rule::Each(inner) => admits(inner, text),
            Rule::OrEmpty(inner) => text.is_empty() || admits(inner, text),
            _ => true,
        }
    }
    let found = all().get(name).and_then(|rules| rules.of(field));
    found.is_none_or(|rules| rules.iter().all(|rule| admits(rule, text)))
}

/// Whether an API server refuses the value of a field of a type, whatever texts with wildcards
/// stand where it has some: the field itself, its items or the values of its entries.
pub fn refuses_wildcards(name: &str, field: &str, value: &Value) -> bool {
    fn refuses(rule: &Rule, value: &Value) -> bool {
        match (rule, value) {
            (Rule::Enum(words), Value::Str(text)) => {
                has_wildcard(text) && !words.iter().any(|word| has_wildcard(word))
            }
            (Rule::Form(form), Value::Str(text)) => {
                has_wildcard(text) && super::formats::has_no_wildcards(form)
            }
            (Rule::OrEmpty(inner), Value::Str(_)) => refuses(inner, value),
            (Rule::Each(inner), Value::List(items)) => items.iter().any(|item| refuses(inner, item)),
            (Rule::Values(inner), Value::Map(map)) => map.iter().any(|(_, value)| refuses(inner, value)),
            _ => false,
        }
    }
    let found = all().get(name).and_then(|rules| rules.of(field));
    found.is_some_and(|rules| rules.iter().any(|rule| refuses(rule, value)))
}

/// The fields that an object of a type has to have: those that are required, and the first of those
/// of which it needs one.
pub fn needed(name: &str) -> Vec<&'static str> {
    let Some(rules) = all().get(name) else { return Vec::new() };
    let is_required =
        |rules: &[Rule]| rules.iter().any(|rule| matches!(rule, Rule::Required | Rule::Expected));
    let required = rules.fields.iter().filter(|(field, rules)| **field != "*" && is_required(rules));
    let mut fields: Vec<&'static str> = required.map(|(field, _)| *field).collect();
    fields.sort_unstable();
    for rule in rules.of("*").unwrap_or_default() {
        if let Rule::OneOf(words) | Rule::SomeOf(words) = rule
            && !words.iter().any(|word| fields.contains(word))
        {
            fields.extend(words.first());
        }
    }
    fields
}

/// Whether an object of a type, with its defaults, has to have a field.
pub fn is_required(name: &str, field: &str) -> bool {
    let found = all().get(name).and_then(|rules| rules.of(field));
    found.is_some_and(|rules| rules.iter().any(|rule| matches!(rule, Rule::Required)))
}

/// The groups of fields of which an object of a type has to have one.
pub fn groups(name: &str) -> impl Iterator<Item = &'static Words> {
    let rules = all().get(name).and_then(|rules| rules.of("*")).unwrap_or_default();
    rules.iter().filter_map(|rule| match rule {
        Rule::OneOf(words) | Rule::SomeOf(words) => Some(words),
        _ => None,
    })
}

/// Whether a field is one of those of which an object of a type has to have one.
pub fn is_in_group(name: &str, field: &str) -> bool {
    groups(name).any(|group| group.contains(&field))
}

/// The fields of which an object of a type has one, never two.
pub fn one_of(name: &str) -> &'static [&'static str] {
    let rules = all().get(name).and_then(|rules| rules.of("*")).unwrap_or_default();
    let group = rules.iter().find_map(|rule| match rule {
        Rule::OneOf(words) => Some(words),
        _ => None,
    });
    group.map_or(&[], |words| words)
}

/// Whether no object of a type has a field.
pub fn is_never(name: &str, field: &str) -> bool {
    let of_field = all().get(name).and_then(|rules| rules.of(field));
    of_field.is_some_and(|rules| rules.iter().any(|rule| matches!(rule, Rule::Never)))
}

/// Whether objects of a type are recorded.
pub fn has_rules(name: &str) -> bool {
    all().contains_key(name)
}

fn all() -> &'static HashMap<&'static str, Rules> {
    static RULES: OnceLock<HashMap<&'static str, Rules>> = OnceLock::new();
    RULES.get_or_init(|| {
        let mut out: HashMap<&'static str, Rules> = HashMap::new();
        let mut current: Words = Vec::new();
        for line in TABLE.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
            let Some((names, rest)) = line.strip_prefix(' ').and_then(|row| row.split_once(' ')) else {
                current = line.split(',').collect();
                for name in &current {
                    out.entry(name).or_default();
                }
                continue;
            };
            let rules: Vec<Rule> = rest.split("; ").map(rule).collect();
            for name in &current {
                let fields = &mut out.entry(name).or_default().fields;
                names
                    .split(',')
                    .for_each(|field| fields.entry(field).or_default().extend(rules.iter().cloned()));
            }
        }
        out
    })
}

fn rule(text: &'static str) -> Rule {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let words = || rest.split(' ').filter(|w| !w.is_empty()).collect::<Words>();
    let number = |at: usize| words().get(at).and_then(|w| w.parse::<i64>().ok()).unwrap_or(0);
    let count = || usize::try_from(number(0)).unwrap_or(0);
    match word {
        "free" => Rule::Free,
        "required" => Rule::Required,
        "expected" => Rule::Expected,
        "absent" => Rule::Absent,
        "never" => Rule::Never,
        "enum" => Rule::Enum(words()),
        "min" => Rule::Range(number(0), i64::MAX),
        "range" => Rule::Range(number(0), number(1)),
        "max-length" => Rule::MaxLength(count()),
        "max-items" => Rule::MaxItems(count()),
        "unique" => Rule::Unique(words()),
        "each" => Rule::Each(Box::new(rule(rest))),
        "keys" => Rule::Keys(Box::new(rule(rest))),
        "values" => Rule::Values(Box::new(rule(rest))),
        "quantity-min" => Rule::QuantityMin(number(0)),
        "int-or-percent" => Rule::IntOrPercent,
        "port-or-name" => Rule::PortOrName,
        "or-empty" => Rule::OrEmpty(Box::new(rule(rest))),
        "one-of" => Rule::OneOf(words()),
        "some-of" => Rule::SomeOf(words()),
        "at-most-one" => Rule::AtMostOne(words()),
        "when" => {
            let words = words();
            let test = words.first().copied().unwrap_or("");
            let (field, test) = match (test.strip_prefix('!'), test.split_once('=')) {
                (Some(field), _) => (field, Test::Missing),
                (None, Some((field, value))) => (field, Test::Is(value)),
                (None, None) => (test, Test::Present),
            };
            let needs = words.get(1) == Some(&"needs");
            Rule::When { field, test, needs, fields: words.into_iter().skip(2).collect() }
        }
        form => Rule::Form(form),
    }
}
