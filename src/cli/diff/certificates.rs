//! `--certificate` and `--check`: what was evaluated, written and evaluated again.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use ephor_compare::{Certificate, CertificateError, Certified, CheckedCertificate, Pair, Side};
use ephor_value::parallel;

use crate::cli::CommandError;
use crate::cli::console::{print, warn};
use crate::cli::outputs::write_whole;

/// The largest certificate that is read, in bytes unpacked: it is held in memory. Of a larger one
/// the rest is missing, and reading fails: too small a number costs a check, and gives no wrong
/// answer.
const MAX_BYTES: u64 = 1 << 31;

/// Writes a certificate, compressed when the name of the file ends in `.gz`.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &str, policies: Vec<Certified>) -> Result<(), CommandError> {
    for one in policies.iter().filter(|one| one.left_out > 0) {
        warn(&format!("{path}: {}: {} objects are left out", one.name, one.left_out));
    }
    let text = Certificate { version: env!("CARGO_PKG_VERSION").into(), policies }.write();
    if !path.ends_with(".gz") {
        return write_whole(path, &text);
    }
    let failed = |cause| CommandError::Write { path: path.into(), cause };
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text.as_bytes()).map_err(failed)?;
    write_whole(path, packed.finish().map_err(failed)?)
}

/// Evaluates the objects of a certificate again, and prints whether it holds: the exit code.
///
/// # Errors
/// The file or the policies cannot be used.
pub fn check(path: &str, pairs: &[Pair]) -> Result<i32, CommandError> {
    let certificate = read(path)?;
    if certificate.version != env!("CARGO_PKG_VERSION") {
        warn(&format!("{path}: written by version {}", certificate.version));
    }
    let one = |certified: &Certified| -> Result<CheckedCertificate, CommandError> {
        let pair = pairs.iter().find(|pair| pair.name == certified.name);
        let Some((old, new)) = pair.and_then(|pair| pair.old.as_ref().zip(pair.new.as_ref())) else {
            return Ok(CheckedCertificate {
                objects: 0,
                problems: vec![format!("{}: no such pair", certified.name)],
            });
        };
        let sides = [Side::new(old.clone(), &certified.name)?, Side::new(new.clone(), &certified.name)?];
        let [old, new] = &sides;
        certified.check([old, new]).map_err(|cause| CommandError::Certificate { path: path.into(), cause })
    };
    let held: Result<Vec<CheckedCertificate>, CommandError> =
        parallel::map(&certificate.policies, one).into_iter().collect();
    let held = held?;
    let mut out = String::new();
    for (certified, held) in certificate.policies.iter().zip(&held) {
        if held.problems.is_empty() {
            out += &format!(
                "{}: holds: {} ({} objects evaluated again)\n",
                certified.name, certified.answer, held.objects
            );
        }
        for problem in &held.problems {
            out += &format!("{problem}\n");
        }
    }
    let is_certified = |pair: &&Pair| certificate.policies.iter().any(|one| one.name == pair.name);
    for pair in pairs.iter().filter(|pair| !is_certified(pair)) {
        out += &format!("{}: not in the certificate\n", pair.name);
    }
    let is_good =
        held.iter().all(|held| held.problems.is_empty()) && pairs.iter().all(|pair| is_certified(&pair));
    out += if is_good { "the certificate holds\n" } else { "the certificate does not hold\n" };
    print(&out);
    Ok(i32::from(!is_good))
}

fn read(path: &str) -> Result<Certificate, CommandError> {
    let failed = |cause| CommandError::File { path: path.into(), cause };
    let bytes = std::fs::read(path).map_err(failed)?;
    let mut text = String::new();
    match bytes.starts_with(&[0x1f, 0x8b]) {
        true => GzDecoder::new(&*bytes).take(MAX_BYTES).read_to_string(&mut text).map_err(failed)?,
        false => bytes.as_slice().read_to_string(&mut text).map_err(failed)?,
    };
    Certificate::read(&text)
        .map_err(|cause: CertificateError| CommandError::Certificate { path: path.into(), cause })
}
