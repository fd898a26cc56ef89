//! Base64 and hash functions.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::fmt::Write;

use super::args::{FunctionResult, text};
use super::{Arg, Context, limits};
use ephor_value::bytes::{decode_base64, lossy};
use ephor_value::{Fault, Value};

/// Bytes as standard base64 with padding.
pub fn base64_text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub(super) fn base64_encode(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let bytes = text(args, 0).as_bytes();
    limits::text_of(bytes.len().saturating_mul(4) / 3)?;
    Ok(base64_text(bytes).into())
}

pub(super) fn base64_decode(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let bytes = decode_base64(text(args, 0).as_bytes())
        .map_err(|at| Fault::new(format!("illegal base64 data at input byte {at}")))?;
    Ok(lossy(&bytes).into())
}

fn hex(bytes: &[u8]) -> Value {
    let mut out = String::with_capacity(bytes.len() * 2);
    for b in bytes {
        let _ = write!(out, "{b:02x}");
    }
    out.into()
}

pub(super) fn sha256(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(hex(&Sha256::digest(text(args, 0))))
}

pub(super) fn sha1(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(hex(&Sha1::digest(text(args, 0))))
}

pub(super) fn md5(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(hex(&Md5::digest(text(args, 0))))
}
