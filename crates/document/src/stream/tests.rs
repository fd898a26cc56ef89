//! A stream that is cut has the objects of the whole text.

#![allow(clippy::unwrap_used)]

use std::io::{self, Cursor, Read};
use std::sync::Arc;

use super::*;
use crate::resource::{self, ResourceOptions};
use crate::{Document, split};

/// A reader that gives few bytes at a time, as a pipe does.
struct Trickle<'t>(&'t [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.1.min(self.0.len()).min(buffer.len());
        buffer[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

fn pieces(text: &str) -> Vec<Piece> {
    Pieces::new(Trickle(text.as_bytes(), 7_919)).map(Result::unwrap).collect()
}

/// The objects of a stream: line, and JSON.
fn streamed(text: &str) -> Vec<(usize, String)> {
    let name: Arc<str> = "s.yaml".into();
    let read = |piece: &Piece| resource::read(&name, piece, ResourceOptions::default()).unwrap().documents;
    shown(pieces(text).iter().flat_map(read).flat_map(Result::unwrap))
}

fn shown(documents: impl IntoIterator<Item = Document>) -> Vec<(usize, String)> {
    documents.into_iter().map(|d| (d.line, ephor_value::print::json(&d.value))).collect()
}

fn pod(i: usize) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: cart-{i}\n  namespace: shop\n# {}\n",
        "x".repeat(i % 97)
    )
}

#[test]
fn documents_are_those_of_the_whole_text_wherever_it_is_cut() {
    let separators = ["---\n", "--- # next\n", "---\n---\n", "---  \r\n", "# a\n---\n# b\n---\n"];
    let text: String = (0..3_000).map(|i| pod(i) + separators[i % separators.len()]).collect();
    let all = pieces(&text);
    assert!(all.len() > 3 && all.iter().all(|piece| piece.text.len() <= PIECE), "{}", all.len());
    let parts = |piece: &Piece| {
        let parts = split::split_from(&piece.text, piece.line).unwrap();
        parts.into_iter().map(|part| (part.line, part.text.to_owned())).collect::<Vec<_>>()
    };
    let whole: Vec<_> =
        split::split(&text).unwrap().into_iter().map(|p| (p.line, p.text.to_owned())).collect();
    assert_eq!(all.iter().flat_map(parts).collect::<Vec<_>>(), whole);
}

#[test]
fn a_document_that_is_longer_than_a_piece_stays_whole() {
    let long = format!("{}data: {{a: {}}}\n", pod(1), "y".repeat(3 * PIECE));
    let text = format!("{}---\n{long}---\n{}", pod(0), pod(2));
    assert_eq!(streamed(&text).len(), 3);
    assert_eq!(
        streamed(&text),
        shown(crate::resources("s.yaml", &text, ResourceOptions::default()).unwrap())
    );
}

#[test]
fn a_stream_of_json_objects_has_one_a_line() {
    let line =
        |i: usize| format!("{{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{{\"name\":\"p{i}\"}}}}\n");
    let text: String = (0..5_000).map(line).collect();
    let found = streamed(&text);
    assert_eq!(found.len(), 5_000);
    assert!(found.iter().enumerate().all(|(i, (line, _))| *line == i + 1));
    // One object over several lines is a document.
    assert_eq!(streamed("{\"apiVersion\": \"v1\",\n\"kind\": \"Pod\"}\n").len(), 1);
}

fn item(i: usize, filler: usize) -> String {
    format!(
        "{{\n            \"apiVersion\": \"v1\",\n            \"kind\": \"Pod\",\n            \"metadata\": {{\"name\": \"p{i}\", \"annotations\": {{\"a\": \"]}}, \\\" {{[ {}\"}}}}\n        }}",
        "z".repeat(filler)
    )
}

fn list(count: usize, kind: &str) -> String {
    let items: Vec<String> = (0..count).map(|i| item(i, 40_000)).collect();
    format!(
        "{{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        {}\n    ],\n    \"kind\": \"{kind}\",\n    \"metadata\": {{\"resourceVersion\": \"\"}}\n}}\n",
        items.join(",\n        ")
    )
}

#[test]
fn a_long_list_in_json_is_cut_into_its_items_and_each_knows_its_line() {
    let text = list(400, "List");
    assert!(text.len() > LIST_FROM);
    let whole = pieces(&text);
    assert!(whole.iter().all(|piece| piece.text.len() < 4 * PIECE));
    let found = streamed(&text);
    let expected = shown(crate::resources("s.yaml", &text, ResourceOptions::default()).unwrap());
    let values = |all: &[(usize, String)]| all.iter().map(|(_, json)| json.clone()).collect::<Vec<_>>();
    assert_eq!(values(&found), values(&expected));
    assert_eq!(found[0].0, 4);
    assert_eq!(found[399].0, 4 + 399 * 5);
    // What follows the list is a document like any other.
    assert_eq!(streamed(&format!("{text}---\n{}", pod(1))).len(), 401);
}

#[test]
fn items_of_a_typed_list_have_its_version_and_kind() {
    let items: Vec<String> = (0..300)
        .map(|i| {
            format!(
                "{{\"metadata\":{{\"name\":\"p{i}\",\"annotations\":{{\"a\":\"{}\"}}}}}}",
                "z".repeat(40_000)
            )
        })
        .collect();
    let text = format!(
        "{{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{{}},\"items\":[{}]}}\n",
        items.join(",")
    );
    let found = streamed(&text);
    assert_eq!(found.len(), 300);
    assert!(found.iter().all(|(line, json)| *line == 1 && json.contains("\"kind\":\"Pod\"")));
    // All are on one line, so that the columns of none are known but of the first.
    let name: Arc<str> = "s".into();
    let inside: usize = pieces(&text)
        .iter()
        .flat_map(|piece| resource::read(&name, piece, ResourceOptions::default()).unwrap().documents)
        .flatten()
        .flatten()
        .filter(|d| d.is_inside)
        .count();
    assert!(inside > 290, "{inside}");
}

#[test]
fn a_long_list_in_yaml_is_cut_into_its_items_and_each_knows_its_line() {
    for indent in ["", "  "] {
        let item = |i: usize| {
            let text = format!(
                "- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: p{i}\n    annotations:\n      a: |\n        - b\n        {}\n",
                "z".repeat(40_000)
            );
            text.lines().map(|line| format!("{indent}{line}\n")).collect::<String>()
        };
        let items: String = (0..400).map(item).collect();
        let text = format!("apiVersion: v1\nitems:\n{items}kind: List\nmetadata: {{resourceVersion: ''}}\n");
        assert!(text.len() > LIST_FROM && pieces(&text).len() > 100);
        let found = streamed(&text);
        let expected = shown(crate::resources("s.yaml", &text, ResourceOptions::default()).unwrap());
        let values = |all: &[(usize, String)]| all.iter().map(|(_, json)| json.clone()).collect::<Vec<_>>();
        assert_eq!(values(&found), values(&expected));
        assert_eq!((found[0].0, found[399].0), (3, 3 + 399 * 8));
        assert_eq!(streamed(&format!("{text}---\n{}", pod(1))).len(), 401);
    }
}

#[test]
fn an_object_with_items_that_is_no_list_is_refused_at_its_end() {
    let text = list(400, "Basket");
    let name: Arc<str> = "s.yaml".into();
    let read = |piece: &Piece| resource::read(&name, piece, ResourceOptions::default()).map(|_| ());
    let errors: Vec<_> = pieces(&text).iter().filter_map(|piece| read(piece).err()).collect();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].to_string().contains("is no list"), "{}", errors[0]);
}

/// The error that ends a stream.
fn error(reader: impl Read) -> String {
    Pieces::new(reader).find_map(Result::err).unwrap().to_string()
}

#[test]
fn an_endless_document_ends_with_an_error_and_not_with_the_memory() {
    let endless = Cursor::new(b"a: b\n---\nk: ").chain(io::repeat(b'x'));
    assert_eq!(error(endless), "line 3: a document of more than 64 MiB that is no list");
    let line = Cursor::new(b"{\"a\":1}\n{\"a\":").chain(io::repeat(b'1'));
    assert_eq!(error(line), "line 2: a document of more than 64 MiB that is no list");
}

#[test]
fn a_list_that_breaks_off_is_an_error_at_its_line() {
    let text = list(400, "List");
    let cut = &text[..text.len() - 120];
    assert!(
        error(cut.as_bytes()).ends_with("cannot be cut into its items: it breaks off"),
        "{}",
        error(cut.as_bytes())
    );
    let other = text.replacen("        {\n", "        7, {\n", 1);
    assert_eq!(
        error(other.as_bytes()),
        "line 4: the list cannot be cut into its items: something else than an object is in it"
    );
}

#[test]
fn bytes_that_are_no_text_are_named_by_their_place_in_the_stream() {
    let mut bytes = (0..2_000).map(|i| pod(i) + "---\n").collect::<String>().into_bytes();
    let at = bytes.len() - 10;
    bytes[at] = 0xff;
    let line = bytes[..at].iter().filter(|b| **b == b'\n').count() + 1;
    assert_eq!(error(&bytes[..]), format!("invalid UTF-8 at byte {at} (line {line})"));
}

#[test]
fn a_mark_of_unicode_is_dropped_at_the_beginning_only() {
    let text = format!("\u{feff}{}", pod(1));
    assert_eq!(streamed(&text), streamed(&pod(1)));
    assert_eq!(pieces("").len(), 0);
}
