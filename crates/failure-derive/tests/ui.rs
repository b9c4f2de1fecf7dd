//! What is refused, and in which words: one file per mistake, with the compiler's answer beside it.
//!
//! `TRYBUILD=overwrite` refreshes the answers; they are read in review like code.

#[test]
fn every_mistake_is_explained_where_it_stands() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
