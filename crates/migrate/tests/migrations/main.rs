//! Migrations of policies, from their texts to those of the new ones.

mod conversion;
mod golden;
mod kinds;
mod pod_security;
mod policies;
mod printing;
