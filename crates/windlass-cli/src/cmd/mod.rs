//! One file for each subcommand.

pub mod completions;
pub mod ls;
pub mod man;
pub mod run;
