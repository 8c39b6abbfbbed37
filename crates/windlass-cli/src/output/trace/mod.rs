//! `windlass trace`: its findings for people, for programs, and for a browser.

pub mod html;
pub mod json;
mod numbers;
pub mod table;
