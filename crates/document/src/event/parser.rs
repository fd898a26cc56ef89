//! Tokens to events: the grammar of YAML as a state machine with a stack of states to return to.

use std::borrow::Cow;

use super::error::{SyntaxError, SyntaxProblem};
use super::scanner::{Scanner, Token, TokenData};
use super::step::{Event, EventData, Mark};

#[derive(Clone, Copy, Debug)]
enum State {
    ImplicitDocumentStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSeqFirst,
    BlockSeqEntry,
    IndentlessEntry,
    BlockMapFirst,
    BlockMapKey,
    BlockMapValue,
    FlowSeqFirst,
    FlowSeqEntry,
    FlowPairKey,
    FlowPairValue,
    FlowPairEnd,
    FlowMapFirst,
    FlowMapKey,
    FlowMapValue,
    FlowMapEmptyValue,
    End,
}

/// See the module page.
pub(crate) struct Parser<'a> {
    scanner: Scanner<'a>,
    state: State,
    states: Vec<State>,
    /// Where the open collections began.
    marks: Vec<Mark>,
    tag_directives: Vec<(String, String)>,
}

type Step<'a> = Result<Event<'a>, SyntaxError>;

impl<'a> Parser<'a> {
    /// A parser of `text`, which may begin with a byte order mark.
    ///
    /// # Errors
    /// The text holds a forbidden character.
    pub(crate) fn new(text: &'a str) -> Result<Self, SyntaxError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        check_characters(text)?;
        Ok(Parser {
            scanner: Scanner::new(text),
            state: State::ImplicitDocumentStart,
            states: Vec::with_capacity(16),
            marks: Vec::with_capacity(16),
            tag_directives: Vec::new(),
        })
    }

    /// The next event; after the stream's end the same again.
    ///
    /// # Errors
    /// The text is not YAML. The parser must not be used after that.
    pub(crate) fn next(&mut self) -> Step<'a> {
        match self.state {
            State::ImplicitDocumentStart => self.document_start(true),
            State::DocumentStart => self.document_start(false),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(true, false),
            State::BlockSeqFirst => self.block_seq_entry(true),
            State::BlockSeqEntry => self.block_seq_entry(false),
            State::IndentlessEntry => self.indentless_entry(),
            State::BlockMapFirst => self.block_map_key(true),
            State::BlockMapKey => self.block_map_key(false),
            State::BlockMapValue => self.block_map_value(),
            State::FlowSeqFirst => self.flow_seq_entry(true),
            State::FlowSeqEntry => self.flow_seq_entry(false),
            State::FlowPairKey => self.flow_pair_key(),
            State::FlowPairValue => self.flow_pair_value(),
            State::FlowPairEnd => {
                let at = self.peek()?.start;
                self.state = State::FlowSeqEntry;
                Ok(event(EventData::MapEnd, at, at))
            }
            State::FlowMapFirst => self.flow_map_key(true),
            State::FlowMapKey => self.flow_map_key(false),
            State::FlowMapValue => self.flow_map_value(false),
            State::FlowMapEmptyValue => self.flow_map_value(true),
            State::End => Ok(event(EventData::StreamEnd, self.scanner.mark, self.scanner.mark)),
        }
    }

    fn peek(&mut self) -> Result<&mut Token<'a>, SyntaxError> {
        self.scanner.peek()
    }

    fn skip(&mut self) {
        self.scanner.skip_token();
    }

    fn return_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    /// An absent node is an empty plain scalar.
    fn empty(&mut self, at: Mark, next: State) -> Step<'a> {
        self.state = next;
        let value = Cow::Borrowed("");
        Ok(event(EventData::Scalar { anchor: None, tag: None, value, plain: true }, at, at))
    }

    fn node_then(&mut self, next: State, block: bool, indentless: bool) -> Step<'a> {
        self.states.push(next);
        self.node(block, indentless)
    }

    /// The end of a collection, whose last token is next.
    fn close(&mut self, data: EventData<'a>) -> Step<'a> {
        let token = self.peek()?;
        let (start, end) = (token.start, token.end);
        self.return_state();
        self.marks.pop();
        self.skip();
        Ok(event(data, start, end))
    }

    fn open(&mut self) -> Result<(), SyntaxError> {
        let start = self.peek()?.start;
        self.marks.push(start);
        self.skip();
        Ok(())
    }

    /// An error at the next token, in the innermost open collection.
    fn fault_inside(&mut self, problem: SyntaxProblem) -> Step<'a> {
        let at = self.peek()?.start;
        Err(SyntaxError::of_parser(self.marks.pop().unwrap_or_default(), problem, at))
    }

    fn document_start(&mut self, implicit: bool) -> Step<'a> {
        if !implicit {
            while matches!(self.peek()?.data, TokenData::DocumentEnd) {
                self.skip();
            }
        }
        let token = self.peek()?;
        let start = token.start;
        let explicit = matches!(
            token.data,
            TokenData::Version(..) | TokenData::TagDirective(_) | TokenData::DocumentStart
        );
        if matches!(token.data, TokenData::StreamEnd) {
            self.state = State::End;
            return Ok(event(EventData::StreamEnd, start, start));
        }
        if implicit && !explicit {
            self.directives()?;
            self.states.push(State::DocumentEnd);
            self.state = State::BlockNode;
            return Ok(event(EventData::DocumentStart, start, start));
        }
        self.directives()?;
        let token = self.peek()?;
        let end = token.end;
        if !matches!(token.data, TokenData::DocumentStart) {
            return Err(SyntaxError::of_parser(Mark::default(), SyntaxProblem::NoDocumentStart, token.start));
        }
        self.states.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        self.skip();
        Ok(event(EventData::DocumentStart, start, end))
    }

    fn directives(&mut self) -> Result<(), SyntaxError> {
        let mut version_seen = false;
        loop {
            let token = self.peek()?;
            let at = token.start;
            let refuse = |problem: SyntaxProblem| Err(SyntaxError::of_parser(Mark::default(), problem, at));
            match &mut token.data {
                TokenData::Version(major, minor) => {
                    if version_seen {
                        return refuse(SyntaxProblem::SecondVersion);
                    }
                    if (*major, *minor) != (1, 1) {
                        return refuse(SyntaxProblem::OtherVersion);
                    }
                    version_seen = true;
                }
                TokenData::TagDirective(directive) => {
                    let (handle, prefix) = std::mem::take(&mut **directive);
                    if self.tag_directives.iter().any(|(h, _)| *h == handle) {
                        return refuse(SyntaxProblem::SecondTag);
                    }
                    self.tag_directives.push((handle, prefix));
                }
                _ => return Ok(()),
            }
            self.skip();
        }
    }

    fn document_content(&mut self) -> Step<'a> {
        let token = self.peek()?;
        let at = token.start;
        match token.data {
            TokenData::Version(..)
            | TokenData::TagDirective(_)
            | TokenData::DocumentStart
            | TokenData::DocumentEnd
            | TokenData::StreamEnd => {
                let next = self.states.pop().unwrap_or(State::End);
                self.empty(at, next)
            }
            _ => self.node(true, false),
        }
    }

    fn document_end(&mut self) -> Step<'a> {
        let token = self.peek()?;
        let at = token.start;
        if matches!(token.data, TokenData::DocumentEnd) {
            self.skip();
        }
        self.tag_directives.clear();
        self.state = State::DocumentStart;
        Ok(event(EventData::DocumentEnd, at, at))
    }

    fn node(&mut self, block: bool, indentless: bool) -> Step<'a> {
        let token = self.peek()?;
        let mut start = token.start;
        if let TokenData::Alias(name) = token.data {
            let end = token.end;
            self.return_state();
            self.skip();
            return Ok(event(EventData::Alias(name), start, end));
        }
        let mut end = start;
        let (mut anchor, mut tag) = (None, None);
        // An anchor and a tag, in either order, each once.
        for i in 0..2 {
            let token = self.peek()?;
            match &mut token.data {
                TokenData::Anchor(name) if anchor.is_none() => anchor = Some(*name),
                TokenData::Tag(parts) if tag.is_none() => {
                    tag = Some((std::mem::take(&mut **parts), token.start));
                }
                _ => break,
            }
            if i == 0 {
                start = token.start;
            }
            end = token.end;
            self.skip();
        }
        let tag = match tag {
            None => None,
            Some((parts, at)) => Some(self.resolve_tag(parts, start, at)?),
        };
        let token = self.peek()?;
        let at = token.start;
        let (data, next) = match &mut token.data {
            TokenData::BlockEntry if indentless => {
                self.state = State::IndentlessEntry;
                return Ok(event(EventData::SeqStart(anchor), start, end));
            }
            TokenData::Scalar { value, plain } => {
                let value = std::mem::take(value);
                let plain = (*plain && tag.is_none()) || tag.as_deref() == Some("!");
                end = token.end;
                self.return_state();
                self.skip();
                return Ok(event(EventData::Scalar { anchor, tag, value, plain }, start, end));
            }
            TokenData::FlowSeqStart => (EventData::SeqStart(anchor), State::FlowSeqFirst),
            TokenData::FlowMapStart => (EventData::MapStart(anchor), State::FlowMapFirst),
            TokenData::BlockSeqStart if block => (EventData::SeqStart(anchor), State::BlockSeqFirst),
            TokenData::BlockMapStart if block => (EventData::MapStart(anchor), State::BlockMapFirst),
            _ if anchor.is_some() || tag.is_some() => {
                let plain = tag.is_none();
                self.return_state();
                let value = Cow::Borrowed("");
                return Ok(event(EventData::Scalar { anchor, tag, value, plain }, start, end));
            }
            _ => return Err(SyntaxError::of_parser(start, SyntaxProblem::NoNode, at)),
        };
        self.state = next;
        Ok(event(data, start, end))
    }

    fn resolve_tag(
        &self,
        (handle, suffix): (String, String),
        start: Mark,
        at: Mark,
    ) -> Result<Box<str>, SyntaxError> {
        if handle.is_empty() {
            return Ok(suffix.into());
        }
        let declared = self.tag_directives.iter().find(|(h, _)| *h == handle).map(|(_, p)| p.as_str());
        let prefix = declared.or(match handle.as_str() {
            "!" => Some("!"),
            "!!" => Some("tag:yaml.org,2002:"),
            _ => None,
        });
        match prefix {
            Some(prefix) => Ok(format!("{prefix}{suffix}").into()),
            None => Err(SyntaxError::of_parser(start, SyntaxProblem::TagHandle, at)),
        }
    }

    fn block_seq_entry(&mut self, first: bool) -> Step<'a> {
        if first {
            self.open()?;
        }
        let token = self.peek()?;
        let end = token.end;
        match token.data {
            TokenData::BlockEntry => {
                self.skip();
                match self.peek()?.data {
                    TokenData::BlockEntry | TokenData::BlockEnd => self.empty(end, State::BlockSeqEntry),
                    _ => self.node_then(State::BlockSeqEntry, true, false),
                }
            }
            TokenData::BlockEnd => self.close(EventData::SeqEnd),
            _ => self.fault_inside(SyntaxProblem::NoDash),
        }
    }

    /// An entry of a sequence that stands in the column of the key it belongs to.
    fn indentless_entry(&mut self) -> Step<'a> {
        let token = self.peek()?;
        let (start, end) = (token.start, token.end);
        if !matches!(token.data, TokenData::BlockEntry) {
            self.return_state();
            return Ok(event(EventData::SeqEnd, start, end));
        }
        self.skip();
        match self.peek()?.data {
            TokenData::BlockEntry | TokenData::Key | TokenData::Value | TokenData::BlockEnd => {
                self.empty(end, State::IndentlessEntry)
            }
            _ => self.node_then(State::IndentlessEntry, true, false),
        }
    }

    fn block_map_key(&mut self, first: bool) -> Step<'a> {
        if first {
            self.open()?;
        }
        let token = self.peek()?;
        let end = token.end;
        match token.data {
            TokenData::Key => {
                self.skip();
                match self.peek()?.data {
                    TokenData::Key | TokenData::Value | TokenData::BlockEnd => {
                        self.empty(end, State::BlockMapValue)
                    }
                    _ => self.node_then(State::BlockMapValue, true, true),
                }
            }
            TokenData::BlockEnd => self.close(EventData::MapEnd),
            _ => self.fault_inside(SyntaxProblem::NoKey),
        }
    }

    fn block_map_value(&mut self) -> Step<'a> {
        let token = self.peek()?;
        let (start, end) = (token.start, token.end);
        if !matches!(token.data, TokenData::Value) {
            return self.empty(start, State::BlockMapKey);
        }
        self.skip();
        match self.peek()?.data {
            TokenData::Key | TokenData::Value | TokenData::BlockEnd => self.empty(end, State::BlockMapKey),
            _ => self.node_then(State::BlockMapKey, true, true),
        }
    }

    fn flow_seq_entry(&mut self, first: bool) -> Step<'a> {
        if first {
            self.open()?;
        }
        if !first && !matches!(self.peek()?.data, TokenData::FlowSeqEnd) {
            if !matches!(self.peek()?.data, TokenData::FlowEntry) {
                return self.fault_inside(SyntaxProblem::NoCommaInSequence);
            }
            self.skip();
        }
        let token = self.peek()?;
        let (start, end) = (token.start, token.end);
        match token.data {
            TokenData::FlowSeqEnd => self.close(EventData::SeqEnd),
            TokenData::Key => {
                self.state = State::FlowPairKey;
                self.skip();
                Ok(event(EventData::MapStart(None), start, end))
            }
            _ => self.node_then(State::FlowSeqEntry, false, false),
        }
    }

    fn flow_pair_key(&mut self) -> Step<'a> {
        let token = self.peek()?;
        let end = token.end;
        match token.data {
            TokenData::Value | TokenData::FlowEntry | TokenData::FlowSeqEnd => {
                // The indicator is skipped with the absent key, as in Kyverno 1.19.1's parser.
                self.skip();
                self.empty(end, State::FlowPairValue)
            }
            _ => self.node_then(State::FlowPairValue, false, false),
        }
    }

    fn flow_pair_value(&mut self) -> Step<'a> {
        if matches!(self.peek()?.data, TokenData::Value) {
            self.skip();
            if !matches!(self.peek()?.data, TokenData::FlowEntry | TokenData::FlowSeqEnd) {
                return self.node_then(State::FlowPairEnd, false, false);
            }
        }
        let at = self.peek()?.start;
        self.empty(at, State::FlowPairEnd)
    }

    fn flow_map_key(&mut self, first: bool) -> Step<'a> {
        if first {
            self.open()?;
        }
        if !first && !matches!(self.peek()?.data, TokenData::FlowMapEnd) {
            if !matches!(self.peek()?.data, TokenData::FlowEntry) {
                return self.fault_inside(SyntaxProblem::NoCommaInMapping);
            }
            self.skip();
        }
        match self.peek()?.data {
            TokenData::FlowMapEnd => self.close(EventData::MapEnd),
            TokenData::Key => {
                self.skip();
                let token = self.peek()?;
                let at = token.start;
                match token.data {
                    TokenData::Value | TokenData::FlowEntry | TokenData::FlowMapEnd => {
                        self.empty(at, State::FlowMapValue)
                    }
                    _ => self.node_then(State::FlowMapValue, false, false),
                }
            }
            _ => self.node_then(State::FlowMapEmptyValue, false, false),
        }
    }

    fn flow_map_value(&mut self, absent: bool) -> Step<'a> {
        if !absent && matches!(self.peek()?.data, TokenData::Value) {
            self.skip();
            if !matches!(self.peek()?.data, TokenData::FlowEntry | TokenData::FlowMapEnd) {
                return self.node_then(State::FlowMapKey, false, false);
            }
        }
        let at = self.peek()?.start;
        self.empty(at, State::FlowMapKey)
    }
}

fn event<'a>(data: EventData<'a>, start: Mark, end: Mark) -> Event<'a> {
    Event { data, start, end }
}

/// Refuses the characters that YAML text may not hold.
///
/// # Errors
/// The text has one.
pub(super) fn check_characters(text: &str) -> Result<(), SyntaxError> {
    let bytes = text.as_bytes();
    // Nearly all text is printable ASCII and line breaks: read single characters only after a
    // byte that may begin a forbidden one.
    let suspicious =
        |b: u8| (b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r')) || matches!(b, 0x7f | 0xc2 | 0xef);
    for (i, b) in bytes.iter().enumerate() {
        if suspicious(*b) {
            let forbidden = match (b, bytes.get(i + 1), bytes.get(i + 2)) {
                (0xc2, Some(next), _) => (0x80..=0x9f).contains(next) && *next != 0x85,
                (0xef, Some(0xbf), Some(last)) => matches!(last, 0xbe | 0xbf),
                (0xef, ..) => false,
                _ => true,
            };
            if forbidden {
                return Err(SyntaxError::anywhere(SyntaxProblem::ControlCharacter));
            }
        }
    }
    Ok(())
}
