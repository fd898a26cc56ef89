//! Loops over several lists that write into one of them by the positions of their elements: equal
//! ones are proved, and what one token changes is not.

use ephor_compare::Answer;

use super::changes::{cel, classic, differ};
use super::compared;

const LISTS: &str = "object.spec.?initContainers.orValue([]) + object.spec.containers";
const BARE: &str = "{}";
const BEHIND: &str = "i >= object.spec.containers.size()";
const TTY: &str = "'/spec/containers/' + string(i) + '/tty'";
const STARTS: &str = "c.image.startsWith('a')";

/// A loop that writes `tty` at the position of its elements.
fn old(list: &str, conditions: &str) -> String {
    let patch = "- {op: add, path: ''/spec/containers/{{elementIndex}}/tty'', value: true}";
    classic(
        "Pod",
        &format!(
            "mutate: {{foreach: [{{list: 'request.object.spec.{list}', preconditions: {{all: [{conditions}]}}, patchesJson6902: '{patch}'}}]}}"
        ),
    )
}

fn of_image() -> String {
    old("[initContainers, containers][]", "{key: '{{ element.image }}', operator: Equals, value: 'a*'}")
}

/// The same as an expression.
fn new(lists: &str, test: &str, behind: &str, bare: &str, path: &str) -> String {
    let of = |path: &str, value: &str| format!("[JSONPatch{{op: 'add', path: {path}, value: {value}}}]");
    let (bare, there) = (of("'/spec/containers/-'", bare), of(path, "true"));
    let body = format!("{behind} ? {bare} : {there}");
    cel("pods", "", &[("JSONPatch", &format!("({lists}).transformList(i, c, {test}, {body}).flatten()"))])
}

/// Sides are not proved to make the same.
fn not_proved(old: &str, new: &str) {
    let found = compared(old, new);
    assert!(!matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_)), "{:?}\n{new}", found.answer);
}

#[test]
fn an_element_writes_at_its_position_among_those_of_all_lists() {
    let old = of_image();
    let found = compared(&old, &new(LISTS, STARTS, BEHIND, BARE, TTY));
    let Answer::ProvedRelative(to) = &found.answer else {
        panic!("{:?} {:?}", found.answer, found.reasons);
    };
    // Behind the last container stands one without a name, which an API server refuses.
    assert!(
        to.iter().any(|one| one == "no other webhook names an item of a list that has no name"),
        "{to:?}"
    );
    assert!(found.differences.iter().all(|one| one.universe == ephor_compare::Universe::Files));
    let turned = "object.spec.containers + object.spec.?initContainers.orValue([])";
    differ(&old, &new(turned, STARTS, BEHIND, BARE, TTY));
    not_proved(&old, &new("object.spec.containers + []", STARTS, BEHIND, BARE, TTY));
    differ(&old, &new(LISTS, "c.image.startsWith('b')", BEHIND, BARE, TTY));
    differ(&old, &new(LISTS, "true", BEHIND, BARE, TTY));
    differ(&old, &new(LISTS, STARTS, "i > object.spec.containers.size()", BARE, TTY));
    differ(&old, &new(LISTS, STARTS, BEHIND, "{'name': 'z', 'image': 'z'}", TTY));
    differ(&old, &new(LISTS, STARTS, BEHIND, BARE, &TTY.replace("tty", "stdin")));
}

#[test]
fn what_decides_about_an_element_is_in_it_and_stays_as_it_is() {
    let old = of_image();
    for test in [
        // Another item, or all of them.
        "object.spec.containers[0].image.startsWith('a')",
        "c.image.startsWith('a') && object.spec.containers.size() < 4",
        "c.image.startsWith('a') && i < 4",
        // What is written decides.
        "c.image.startsWith('a') && !c.?tty.orValue(false)",
        // Names say which element it is.
        "c.image.startsWith('a') && c.name != 'z'",
    ] {
        not_proved(&old, &new(LISTS, test, BEHIND, BARE, TTY));
    }
}

#[test]
fn the_order_of_a_list_in_an_element_says_nothing_where_something_is_looked_for_in_it() {
    let old = old(
        "[initContainers, containers][]",
        "{key: x, operator: AnyNotIn, value: '{{ element.args[] || `[]` }}'}",
    );
    let test = |test: &str| new(LISTS, test, BEHIND, BARE, TTY);
    let found = compared(&old, &test("!c.?args.orValue([]).exists(a, a in ['x', '*'])"));
    assert!(matches!(found.answer, Answer::ProvedRelative(_)), "{:?} {:?}", found.answer, found.reasons);
    differ(&old, &test("!c.?args.orValue([]).exists(a, a in ['y', '*'])"));
    differ(&old, &test("c.?args.orValue([]) != ['x']"));
    not_proved(&old, &test("!(c.?args.orValue([]).exists(a, a in ['x', '*']) && c.args[0] != 'z')"));
}
