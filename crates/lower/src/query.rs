//! Expression texts → queries.

use ephor_ir::Query;
use ephor_ir::template::Needs;
use ephor_value::Str;

/// Makes a query of an expression's text; `names` are the bindings in scope, outermost first.
///
/// A text that is no expression gives a query that fails with Kyverno 1.19.1's text when it is run.
pub fn compile(text: &str, names: &[Str]) -> Query {
    let mut query = plain(text, names);
    if text.contains("request.object") {
        let deleting = text.replace("request.object", "request.oldObject");
        query.on_delete = Some(Box::new(plain(&deleting, names)));
    }
    query
}

/// As [`compile`] for expressions that read `request.object` also when the object is deleted.
pub fn plain(text: &str, names: &[Str]) -> Query {
    let text = text.trim();
    let expr = match ephor_jmespath::parse(text) {
        _ if text.is_empty() => Err("invalid query (nil)".into()),
        Ok(ast) => Ok(ephor_jmespath::lower::lower(&ast)),
        Err(e) => Err(format!("incorrect query {text}: {e}").into()),
    };
    let sorts = expr.as_ref().is_ok_and(ephor_ir::optimise::sorts);
    Query { sorts, text: text.into(), expr, needs: needs(text, names), on_delete: None }
}

fn needs(text: &str, names: &[Str]) -> Needs {
    let bindings = names
        .iter()
        .enumerate()
        .filter(|(_, name)| mentions(text, name))
        .filter_map(|(i, _)| u32::try_from(i).ok())
        .collect();
    Needs { bindings, images: mentions(text, "images") }
}

/// Whether `name` occurs in `text` at the start or after anything but a letter, digit or dot, and
/// ends at a word boundary. String literals count too (Kyverno tests the text alone).
pub fn mentions(text: &str, name: &str) -> bool {
    if name.is_empty() {
        return false;
    }
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|s| s.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|s| s.chars().next());
        let starts = before.is_none_or(|c| c != '.' && !c.is_ascii_alphanumeric());
        starts && is_word(name.chars().next_back()) != is_word(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_mentioned_behind_anything_but_letters_digits_and_dots_up_to_the_end_of_a_word() {
        for text in ["v", "v.a", "[v]", "'v'", "a || v", "_v", "v-x", "a.b == v"] {
            assert!(mentions(text, "v"), "{text}");
        }
        for text in ["a.v", "av", "1v", "vv", "v1", "v_", ""] {
            assert!(!mentions(text, "v"), "{text}");
        }
        assert!(mentions("a.v + v", "v"));
        assert!(!mentions("anything", ""));
    }

    #[test]
    fn a_query_needs_the_bindings_that_its_text_mentions_and_images() {
        let names: Vec<Str> = ["a", "b", "c"].map(Str::from).to_vec();
        let query = plain("c.x || a || images.y", &names);
        assert_eq!(&*query.needs.bindings, [0, 2]);
        assert!(query.needs.images);
        assert!(plain("x", &names).needs.is_empty());
    }

    #[test]
    fn only_queries_on_the_object_read_something_else_when_it_is_deleted() {
        let query = compile("request.object.a || request.object.b", &[]);
        let other = query.on_delete.unwrap();
        assert_eq!(&*other.text, "request.oldObject.a || request.oldObject.b");
        assert!(compile("request.oldObject.a", &[]).on_delete.is_none());
        assert!(plain("request.object.a", &[]).on_delete.is_none());
    }

    #[test]
    fn a_text_that_is_no_expression_fails_when_it_is_run() {
        assert_eq!(plain("  ", &[]).expr.unwrap_err().as_ref(), "invalid query (nil)");
        assert!(plain("a b", &[]).expr.unwrap_err().starts_with("incorrect query a b: SyntaxError: "));
    }
}
