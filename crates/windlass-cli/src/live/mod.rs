//! A terminal that is written to again and again, and what its user and the system want meanwhile.

pub mod control;
pub mod screen;
