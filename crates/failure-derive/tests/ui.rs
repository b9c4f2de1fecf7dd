//! Tests for compile errors: one file per mistake, with the expected output of the compiler.
//!
//! `TRYBUILD=overwrite` refreshes the expected output; review the changes like code.

#[test]
fn every_mistake_is_reported_at_its_position() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
