//! What is wrong with the syntax of YAML text, and where.
//!
//! Shown in the words of Kyverno 1.19.1's decoder: `yaml: line 3: did not find expected key`.

use std::fmt;
use std::num::NonZeroU32;

use super::step::Mark;

/// Text that is not YAML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line that the decoder names; `None` where it names none.
    pub line: Option<NonZeroU32>,
    /// What is wrong there.
    pub problem: SyntaxProblem,
    /// Where what was being read begins, and where it was noticed that it is wrong.
    pub places: Option<[SyntaxPlace; 2]>,
}

/// A place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxPlace {
    /// The line, from 1.
    pub line: usize,
    /// Bytes since the line began.
    pub byte: usize,
}

impl SyntaxPlace {
    fn of(mark: Mark) -> SyntaxPlace {
        SyntaxPlace { line: mark.line as usize + 1, byte: mark.col as usize }
    }
}

/// What is wrong with the syntax of YAML text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyntaxProblem {
    /// A quoted text is not closed.
    #[error("found unexpected end of stream")]
    UnexpectedEnd,
    /// A character with which nothing begins.
    #[error("found character that cannot start any token")]
    NoToken,
    /// `-` where no item can begin.
    #[error("block sequence entries are not allowed in this context")]
    SequenceEntry,
    /// `?` where no key can begin.
    #[error("mapping keys are not allowed in this context")]
    MappingKey,
    /// `:` where no value can begin.
    #[error("mapping values are not allowed in this context")]
    MappingValue,
    /// A key without a colon.
    #[error("could not find expected ':'")]
    NoColon,
    /// `%` without a name.
    #[error("could not find expected directive name")]
    NoDirectiveName,
    /// The name of a directive ends in something else than a blank.
    #[error("found unexpected non-alphabetical character")]
    DirectiveName,
    /// A version of one number.
    #[error("did not find expected digit or '.' character")]
    VersionPoint,
    /// A tag handle that no blank follows.
    #[error("did not find expected whitespace")]
    NoWhitespace,
    /// A tag that no blank follows.
    #[error("did not find expected whitespace or line break")]
    NoBreak,
    /// A directive other than `%YAML` and `%TAG`.
    #[error("found unknown directive name")]
    UnknownDirective,
    /// More text on the line of a directive or of the head of a block scalar.
    #[error("did not find expected comment or line break")]
    NoCommentOrBreak,
    /// A number of a version with more than two digits.
    #[error("found extremely long version number")]
    LongVersion,
    /// A version without a number.
    #[error("did not find expected version number")]
    NoVersion,
    /// An anchor or alias without a name, or with other characters than a name has.
    #[error("did not find expected alphabetic or numeric character")]
    AnchorName,
    /// A verbatim tag that is not closed.
    #[error("did not find the expected '>'")]
    NoTagEnd,
    /// A tag handle without its exclamation mark.
    #[error("did not find expected '!'")]
    NoTagMark,
    /// A tag without a name.
    #[error("did not find expected tag URI")]
    NoTagUri,
    /// A percent sign of a tag without two hexadecimal digits.
    #[error("did not find URI escaped octet")]
    UriEscape,
    /// An escaped character of a tag begins with a byte that begins none.
    #[error("found an incorrect leading UTF-8 octet")]
    LeadingOctet,
    /// An escaped character of a tag continues with a byte that continues none.
    #[error("found an incorrect trailing UTF-8 octet")]
    TrailingOctet,
    /// A tab indents a plain text.
    #[error("found a tab character that violates indentation")]
    TabIndents,
    /// `---` or `...` in a quoted text.
    #[error("found unexpected document indicator")]
    DocumentIndicator,
    /// A backslash before a character that is not escaped.
    #[error("found unknown escape character")]
    Escape,
    /// An escape without its hexadecimal digits.
    #[error("did not find expected hexdecimal number")]
    NoHexNumber,
    /// An escape of a number that is no character.
    #[error("found invalid Unicode character escape code")]
    EscapeCode,
    /// The indentation of a block scalar is given as zero.
    #[error("found an indentation indicator equal to 0")]
    ZeroIndentation,
    /// A tab indents a block scalar.
    #[error("found a tab character where an indentation space is expected")]
    TabInBlock,
    /// Text after directives or after a document without `---` before it.
    #[error("did not find expected <document start>")]
    NoDocumentStart,
    /// Two `%YAML` directives.
    #[error("found duplicate %YAML directive")]
    SecondVersion,
    /// A `%YAML` directive of another version than 1.1.
    #[error("found incompatible YAML document")]
    OtherVersion,
    /// Two `%TAG` directives of one handle.
    #[error("found duplicate %TAG directive")]
    SecondTag,
    /// No value where one belongs.
    #[error("did not find expected node content")]
    NoNode,
    /// A tag handle that no directive declares.
    #[error("found undefined tag handle")]
    TagHandle,
    /// Something else than an item in a block sequence.
    #[error("did not find expected '-' indicator")]
    NoDash,
    /// Something else than a key in a block mapping.
    #[error("did not find expected key")]
    NoKey,
    /// Items of a flow sequence without a comma between them.
    #[error("did not find expected ',' or ']'")]
    NoCommaInSequence,
    /// Entries of a flow mapping without a comma between them.
    #[error("did not find expected ',' or '}}'")]
    NoCommaInMapping,
    /// A control character anywhere.
    #[error("control characters are not allowed")]
    ControlCharacter,
}

impl SyntaxError {
    /// An error of the scanner. Its line count has not passed the line yet, the parser's has.
    pub(super) fn of_scanner(context: Mark, problem: SyntaxProblem, at: Mark) -> SyntaxError {
        let line = match at.line {
            0 => context.line,
            n => n + 1,
        };
        let places = Some([SyntaxPlace::of(context), SyntaxPlace::of(at)]);
        SyntaxError { line: NonZeroU32::new(line), problem, places }
    }

    /// An error of the parser.
    pub(super) fn of_parser(context: Mark, problem: SyntaxProblem, at: Mark) -> SyntaxError {
        let line = if at.line == 0 { context.line } else { at.line };
        let places = Some([SyntaxPlace::of(context), SyntaxPlace::of(at)]);
        SyntaxError { line: NonZeroU32::new(line), problem, places }
    }

    /// An error without a place.
    pub(super) fn anywhere(problem: SyntaxProblem) -> SyntaxError {
        SyntaxError { line: None, problem, places: None }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "yaml: line {line}: {}", self.problem),
            None => write!(f, "yaml: {}", self.problem),
        }
    }
}

impl std::error::Error for SyntaxError {}
