//! YAML text to [`Value`].
//!
//! Events come from a port of libyaml, whose error texts the reference's decoder shares; what the
//! nodes mean is decided in [`scalar`](super::scalar) and [`build`](super::build). Only the first
//! document of the text is read: streams are split before, see [`split`](super::split).

use std::io::{BufRead, Read};

use libyaml_safer::{Encoding, Error, ErrorKind, EventData, Parser};

use super::Duplicates;
use super::build::Builder;
use super::scalar::{Scalar, resolve};

use crate::value::Value;

/// Bytes handed to the event parser at a time: it copies what it is given into a wider buffer.
const CHUNK: usize = 4096;

/// The value of the first document in `text`; null when there is none.
///
/// # Errors
/// The reference's text for what is wrong: `yaml: line 2: did not find expected key`.
pub fn parse(text: &str, duplicates: Duplicates) -> Result<Value, String> {
    parse_with_events(text, duplicates)
}

pub(super) fn parse_with_events(text: &str, duplicates: Duplicates) -> Result<Value, String> {
    let ended;
    let text = if text.ends_with('\n') {
        text
    } else {
        ended = format!("{text}\n");
        &ended
    };
    let mut events = Events::new(text);
    let mut parser = events.parser();
    let mut build = Builder::new(duplicates);
    let mut starts: Vec<usize> = Vec::with_capacity(16);
    loop {
        let event = parser.parse().map_err(|e| error_text(&e))?;
        let line = usize::try_from(event.start_mark.line).unwrap_or(usize::MAX);
        match event.data {
            EventData::Scalar { anchor, tag, value, plain_implicit, .. } => {
                let tag = tag.as_deref();
                let merge = value == "<<" && (tag == Some("tag:yaml.org,2002:merge") || plain_implicit);
                let kind = match resolve(&value, tag, plain_implicit) {
                    Ok(kind) => kind,
                    Err(text) => {
                        build.refuse(text);
                        Scalar::Null
                    }
                };
                build.scalar(&value, kind, merge, anchor, line);
            }
            EventData::SequenceStart { anchor, .. } => {
                starts.push(line);
                build.start_seq(anchor)?;
            }
            EventData::MappingStart { anchor, .. } => {
                starts.push(line);
                build.start_map(anchor)?;
            }
            EventData::SequenceEnd | EventData::MappingEnd => build.end(starts.pop().unwrap_or(line)),
            EventData::Alias { anchor } => build.alias(&anchor, line)?,
            EventData::DocumentEnd { .. } | EventData::StreamEnd => return build.finish(),
            EventData::DocumentStart { version_directive: Some(v), .. } if (v.major, v.minor) != (1, 1) => {
                return Err("yaml: found incompatible YAML document".to_string());
            }
            EventData::StreamStart { .. } | EventData::DocumentStart { .. } => {}
        }
    }
}

/// The text as the event parser wants it: a reader that gives whole characters.
pub(super) struct Events<'a>(&'a str);

impl<'a> Events<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Events(text.strip_prefix('\u{feff}').unwrap_or(text))
    }

    pub(super) fn parser(&mut self) -> Parser<&mut Self> {
        let mut parser = Parser::new();
        // Told, it does not look for a byte order mark and take half a character for one.
        parser.set_encoding(Encoding::Utf8);
        parser.set_input(self);
        parser
    }
}

impl Read for Events<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.as_bytes().read(buf)?;
        self.consume(n);
        Ok(n)
    }
}

impl BufRead for Events<'_> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        let end = self.0.floor_char_boundary(CHUNK);
        Ok(self.0.get(..end).unwrap_or("").as_bytes())
    }

    fn consume(&mut self, amount: usize) {
        self.0 = self.0.get(amount..).unwrap_or("");
    }
}

/// The reference's text for an error of the event parser.
pub(super) fn error_text(e: &Error) -> String {
    let problem = e.problem();
    if e.kind() == ErrorKind::Reader {
        return format!("yaml: {problem}");
    }
    let at = |mark: Option<libyaml_safer::Mark>| mark.map_or(0, |m| m.line);
    let line = match at(e.problem_mark()) {
        0 => at(e.context_mark()),
        // The scanner stops before it counts the line, the parser after.
        n if e.kind() == ErrorKind::Scanner => n + 1,
        n => n,
    };
    if line == 0 { format!("yaml: {problem}") } else { format!("yaml: line {line}: {problem}") }
}
