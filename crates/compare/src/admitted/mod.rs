//! Objects as an API server admits them and shows them to webhooks.
//!
//! - `repair`: refused objects, mended where it is plain how
//! - `view`: objects as webhooks get them

pub(crate) mod repair;
pub(crate) mod view;
