//! Macros: calls whose first arguments are names of variables.

use ephor_cel::ast::Node;

/// How many of the first arguments of a member call are names of variables; none if it is no macro.
/// Of two the first one is the position of an item, or the key of an entry.
pub fn variables(function: &str, args: &[Node]) -> usize {
    match (function, args.len()) {
        ("all" | "exists" | "exists_one" | "existsOne", 3) => 2,
        ("transformList" | "transformMap" | "transformMapEntry", 3..) => 2,
        ("all" | "exists" | "exists_one" | "existsOne", 2) => 1,
        ("filter" | "map" | "optMap" | "optFlatMap" | "sortBy", 2..) => 1,
        _ => 0,
    }
}
