//! `windlass trace`: its findings for people, for programs, and for a browser.

pub mod destination;
pub mod html;
pub mod json;
mod numbers;
pub mod text;
