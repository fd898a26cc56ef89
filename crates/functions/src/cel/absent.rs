//! Functions of features that a build does not have: they are known, and fault when they are
//! called.

#[cfg(not(feature = "gzip"))]
pub mod gzip {
    use super::super::call::{Call, CallResult, fault};

    const ABSENT: &str = "ephor was built without the feature `gzip`";

    /// `gzip.compress`
    pub fn compress(_: &Call<'_>) -> CallResult {
        fault(ABSENT)
    }

    /// `gzip.decompress`
    pub fn decompress(_: &Call<'_>) -> CallResult {
        fault(ABSENT)
    }
}

#[cfg(not(feature = "tokens"))]
pub mod tokens {
    use super::super::call::{Call, CallResult, fault};

    const ABSENT: &str = "ephor was built without the feature `tokens`";

    /// `jwks.Fetch`
    pub fn fetch(_: &Call<'_>) -> CallResult {
        fault(ABSENT)
    }

    /// `jwt.Decode`
    pub fn decode_token(_: &Call<'_>) -> CallResult {
        fault(ABSENT)
    }
}
