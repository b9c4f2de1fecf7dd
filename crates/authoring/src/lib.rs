//! Help for the authors of contracts, as pure functions over contracts.
//!
//! So far the lint. Comparing two contracts, generating clients and learning from recordings will
//! live here too; reading files and printing happen elsewhere.

pub mod lint;
