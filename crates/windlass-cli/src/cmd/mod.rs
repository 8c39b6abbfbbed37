//! One file for each subcommand.

pub mod cache;
pub mod compile;
pub mod completions;
pub mod doctor;
pub mod install;
pub mod ls;
pub mod man;
pub mod prune;
pub mod run;
pub mod top;
pub mod trace;
pub mod uninstall;
