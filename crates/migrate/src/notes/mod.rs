//! Notes: what a reader of the new policy has to know.
//!
//! - `calls`: calls of the API and of services
//! - `wildcards`: values that may hold wildcards

pub(crate) mod calls;
pub(crate) mod wildcards;
