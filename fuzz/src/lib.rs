//! What the fuzz targets share: seeds, certificates to change, questions to a root store, and a watch on memory.

#[path = "../../crates/windlass/tests/support/answers.rs"]
pub mod answers;
#[path = "../../crates/windlass/tests/support/der.rs"]
pub mod der;
#[path = "../../crates/windlass/tests/support/memory.rs"]
pub mod memory;
pub mod seeds;
