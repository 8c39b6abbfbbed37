//! What the fuzz targets share: seeds, questions to a root store, and a watch on memory.

#[path = "../../crates/windlass/tests/support/answers.rs"]
pub mod answers;
#[path = "../../crates/windlass/tests/support/memory.rs"]
pub mod memory;
pub mod seeds;
