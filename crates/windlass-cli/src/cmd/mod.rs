//! One file for each subcommand.

pub mod cache;
pub mod compile;
pub mod completions;
pub mod install;
pub mod ls;
pub mod man;
pub mod run;
pub mod uninstall;
