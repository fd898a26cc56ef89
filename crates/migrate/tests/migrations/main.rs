//! Migrations of policies, from their texts to those of the new ones.

mod amounts;
mod conversion;
mod defaults;
mod found;
mod functions;
mod golden;
mod kinds;
mod merges;
mod order;
mod ordered;
mod pod_security;
mod policies;
mod printing;
mod unquoted;
