//! `x509_decode(pem)` and `x509.decode(pem)`: the fields of a certificate or certificate request.
//!
//! In: text with a PEM block. Out: the fields as `ephor-x509` reads them. A build without the
//! feature `x509` knows the functions and fails when they are called.

use super::args::text;
use super::{Arg, Context};
use ephor_value::{Fault, Value};

pub(super) fn x509_decode(_: &Context, args: &[Arg<'_>]) -> Result<Value, Fault> {
    decode(text(args, 0)).map_err(|error| Fault::new(error.to_string()))
}

#[cfg(feature = "x509")]
use ephor_x509::decode;
#[cfg(feature = "x509")]
pub(super) use ephor_x509::{is_certificate, low_serial};

#[cfg(not(feature = "x509"))]
mod absent {
    use ephor_value::Value;

    /// The one error of a build without the feature.
    #[derive(Debug, thiserror::Error)]
    #[error("ephor was built without the feature `x509`")]
    pub struct Absent;

    pub fn decode(_: &str) -> Result<Value, Absent> {
        Err(Absent)
    }

    pub fn low_serial(_: &str) -> Option<i64> {
        None
    }

    /// Nothing can be read, so nothing is a certificate.
    pub fn is_certificate(_: &str) -> bool {
        false
    }
}
#[cfg(not(feature = "x509"))]
use absent::decode;
#[cfg(not(feature = "x509"))]
pub(super) use absent::{is_certificate, low_serial};

#[cfg(all(test, feature = "x509"))]
mod tests {
    use super::super::{Arg, Context, call, find};
    use ephor_value::Value;
    use std::borrow::Cow;

    #[test]
    fn damaged_certificates_are_errors() {
        let base = "-----BEGIN CERTIFICATE-----\nMIIBbjCCARWgAwIBAgIUfNpq+H9IIlMkzRYcJRfqwgc04w8w\n-----END CERTIFICATE-----\n";
        let decode = |pem: &str| {
            let arg = Arg::Value(Cow::Owned(Value::from(pem)));
            find("x509_decode").map(|f| call(f, &Context::default(), &[arg]).map_err(|e| e.to_string()))
        };
        assert!(matches!(decode(base), Some(Err(e)) if e == "x509: malformed certificate"));
        for cut in 0..base.len() {
            assert!(matches!(decode(&base[..cut]), Some(Err(_))));
        }
    }
}
