//! The webhook server as its clients meet it: a process of its own, reviews over sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod answers;
mod faults;
mod life;
mod outbound;
mod pitfalls;
mod policies;
mod profile;
mod recorded;
mod server;
mod settings;
mod shadows;
mod traces;
