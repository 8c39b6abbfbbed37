//! Sources of trust, and descriptions of the anchors in them.

pub mod authority;
pub mod choose;
pub mod der;
pub mod key;
pub mod line;
pub mod listing;
pub mod name;
