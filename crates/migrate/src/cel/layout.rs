//! Documents that are laid out in lines of a width.
//!
//! In: pieces of text with the places where lines may be broken. Out: text. A group is put into one
//! line when it fits, else it is broken at its own places; groups inside of it are tried anew.

/// A piece of a layout.
#[derive(Clone, Debug)]
pub enum Doc {
    /// Text without line breaks.
    Text(String),
    /// A line break, or this text where the group fits into the line.
    Line(&'static str),
    /// Pieces one after the other.
    Concat(Vec<Doc>),
    /// Lines inside begin that much further right.
    Nest(usize, Box<Doc>),
    /// Broken as one.
    Group(Box<Doc>),
}

impl Doc {
    /// Text.
    pub fn text(text: impl Into<String>) -> Doc {
        Doc::Text(text.into())
    }

    /// Pieces that are broken together.
    pub fn group(parts: Vec<Doc>) -> Doc {
        Doc::Group(Box::new(Doc::Concat(parts)))
    }

    /// Pieces of which lines begin further right.
    pub fn nest(by: usize, parts: Vec<Doc>) -> Doc {
        Doc::Nest(by, Box::new(Doc::Concat(parts)))
    }
}

/// A piece that is still to be written: how far right lines begin, and whether its line breaks are
/// taken.
#[derive(Clone, Copy)]
struct Piece<'d> {
    indent: usize,
    broken: bool,
    doc: &'d Doc,
}

/// The text of a document in lines of at most `width`, where it can be broken so.
pub fn render(doc: &Doc, width: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    let mut stack = vec![Piece { indent: 0, broken: true, doc }];
    while let Some(piece) = stack.pop() {
        let Piece { indent, broken, doc } = piece;
        match doc {
            Doc::Text(text) => {
                column += text.chars().count();
                out.push_str(text);
            }
            Doc::Line(_) if broken => {
                let retained = out.trim_end_matches(' ').len();
                out.truncate(retained);
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                column = indent;
            }
            Doc::Line(text) => {
                column += text.len();
                out.push_str(text);
            }
            Doc::Concat(parts) => stack.extend(parts.iter().rev().map(|doc| Piece { doc, ..piece })),
            Doc::Nest(by, doc) => stack.push(Piece { indent: indent + by, broken, doc }),
            Doc::Group(doc) => {
                let flat = Piece { indent, broken: false, doc };
                let fits = fits(flat, &stack, width.saturating_sub(column));
                stack.push(Piece { broken: !fits, ..flat });
            }
        }
    }
    out
}

/// Whether a piece and what follows it up to the next line break fit into the rest of the line.
fn fits(piece: Piece<'_>, rest: &[Piece<'_>], width: usize) -> bool {
    let mut left = width;
    let mut stack = vec![piece];
    let mut behind = rest.iter().rev();
    loop {
        let Some(Piece { indent, broken, doc }) = stack.pop().or_else(|| behind.next().copied()) else {
            return true;
        };
        match doc {
            Doc::Text(text) => match left.checked_sub(text.chars().count()) {
                Some(fewer) => left = fewer,
                None => return false,
            },
            Doc::Line(_) if broken => return true,
            Doc::Line(text) => match left.checked_sub(text.len()) {
                Some(fewer) => left = fewer,
                None => return false,
            },
            Doc::Concat(parts) => {
                stack.extend(parts.iter().rev().map(|doc| Piece { indent, broken, doc }));
            }
            // A group that follows may be broken at its first place.
            Doc::Nest(_, doc) | Doc::Group(doc) => stack.push(Piece { indent, broken, doc }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_fits_stays_in_its_line_and_another_one_is_broken_at_all_its_places() {
        let item = |text: &str| Doc::text(text);
        let doc = Doc::group(vec![
            item("f("),
            Doc::nest(2, vec![Doc::Line(""), item("one,"), Doc::Line(" "), item("two")]),
            item(")"),
        ]);
        assert_eq!(render(&doc, 20), "f(one, two)");
        assert_eq!(render(&doc, 8), "f(\n  one,\n  two)");
    }
}
