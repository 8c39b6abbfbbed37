//! A manual page from clap's definition.
//!
//! clap_mangen renders what it has structure for. The rest of the help is laid out in lines already, which its
//! filled "EXTRA" section would destroy: here each part of it becomes a section of its own, unfilled.

use std::io::{self, Write};

use clap_mangen::Man;

/// The page, in roff.
pub fn render(definition: clap::Command) -> io::Result<Vec<u8>> {
    let usage = definition.clone().render_usage().to_string();
    let extra = definition.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let has_subcommands = definition.has_subcommands();
    let man = Man::new(definition);

    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    section(&mut page, "SYNOPSIS", usage.trim_start_matches("Usage: "))?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_subcommands {
        man.render_subcommands_section(&mut page)?;
    }
    for part in extra.split("\n\n").filter(|part| !part.trim().is_empty()) {
        match part.split_once(":\n") {
            Some((title, body)) if !title.contains('\n') => section(&mut page, &title.to_uppercase(), body)?,
            _ => lines(&mut page, part)?,
        }
    }
    Ok(page)
}

fn section(page: &mut Vec<u8>, title: &str, body: &str) -> io::Result<()> {
    writeln!(page, ".SH \"{}\"", escaped(title))?;
    lines(page, body)
}

fn lines(page: &mut Vec<u8>, text: &str) -> io::Result<()> {
    writeln!(page, ".PP\n.nf")?;
    for line in text.trim_end().lines() {
        // A dot or quote at the start of a line would make it a request.
        writeln!(page, "\\&{}", escaped(line))?;
    }
    writeln!(page, ".fi")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga")
}
