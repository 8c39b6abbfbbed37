//! A manual page from clap's definition.
//!
//! clap_mangen renders what it has structure for. The rest of the help is laid out in lines of a hundred columns: here
//! it is taken apart, so that whoever shows the page breaks the lines.

mod text;

use std::io::{self, Write};

use clap_mangen::Man;
use text::{Block, Part};

/// Terms that are longer stand above their meaning, as paragraphs: they may have to be broken, too.
const LONG_TERM: usize = 40;
/// Running text behind the list of one of these is about that.
const WITH_A_WORD_MORE: [&str; 4] = ["Output of", "Report of", "Content of", "Exit status"];

/// The page, in roff. `see_also` are names of pages of section 1.
pub fn render(definition: clap::Command, see_also: &[String]) -> io::Result<Vec<u8>> {
    let usage = definition.clone().render_usage().to_string();
    let about = definition.get_long_about().or_else(|| definition.get_about()).map(ToString::to_string);
    let extra = definition.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let has_subcommands = definition.has_subcommands();
    let man = Man::new(definition);
    let (description, sections) = arranged(&about.unwrap_or_default(), &extra);

    let mut page = Vec::new();
    man.render_title(&mut page)?;
    // Neither words cut in two, nor wide gaps between them: much of it are names to copy.
    writeln!(page, ".nh\n.ad l")?;
    man.render_name_section(&mut page)?;
    heading(&mut page, "SYNOPSIS")?;
    line(&mut page, usage.trim_start_matches("Usage: "))?;
    heading(&mut page, "DESCRIPTION")?;
    blocks(&mut page, &description)?;
    man.render_options_section(&mut page)?;
    if has_subcommands {
        man.render_subcommands_section(&mut page)?;
    }
    for (title, content) in sections {
        heading(&mut page, &title)?;
        if title == text::EXAMPLES { examples(&mut page, &content)? } else { blocks(&mut page, &content)? }
    }
    heading(&mut page, "SEE ALSO")?;
    let names: Vec<_> = see_also.iter().map(|name| format!("\\fB{}\\fR(1)", escaped(name))).collect();
    writeln!(page, "{}", names.join(", "))?;
    Ok(page)
}

/// The description, and the sections in the order of man-pages(7): examples are the last.
fn arranged(about: &str, extra: &str) -> (Vec<Block>, Vec<(String, Vec<Block>)>) {
    let paragraphs = about.split("\n\n").filter(|text| !text.trim().is_empty());
    let mut description: Vec<_> = paragraphs.map(|text| Block::Paragraph(text.replace('\n', " "))).collect();
    let mut sections: Vec<(String, Vec<Block>)> = Vec::new();
    for Part { title, mut blocks } in text::parts(extra) {
        let takes_more = |(title, _): &&mut (String, _)| WITH_A_WORD_MORE.iter().any(|start| title.starts_with(start));
        match (title, sections.last_mut().filter(takes_more)) {
            (Some(title), _) => sections.push((title, blocks)),
            (None, Some((_, section))) => section.append(&mut blocks),
            (None, None) => description.append(&mut blocks),
        }
    }
    sections.sort_by_key(|(title, _)| match title.as_str() {
        text::EXAMPLES => 2,
        "Exit status" => 0,
        _ => 1,
    });
    (description, sections)
}

/// In capitals, but for options: `OUTPUT OF --json`.
fn heading(page: &mut Vec<u8>, title: &str) -> io::Result<()> {
    let words = title.split(' ').map(|word| if word.starts_with('-') { word.to_owned() } else { word.to_uppercase() });
    writeln!(page, ".SH \"{}\"", escaped(&words.collect::<Vec<_>>().join(" ")))
}

fn blocks(page: &mut Vec<u8>, blocks: &[Block]) -> io::Result<()> {
    for block in blocks {
        match block {
            Block::Paragraph(text) => {
                writeln!(page, ".PD\n.PP")?;
                line(page, text)?;
            }
            Block::Item { term, text, below } => item(page, term, text, below)?,
        }
    }
    writeln!(page, ".PD")
}

fn item(page: &mut Vec<u8>, term: &str, text: &str, below: &[Block]) -> io::Result<()> {
    if term.len() > LONG_TERM {
        writeln!(page, ".PD 0\n.PP")?;
        line(page, term)?;
        indented(page, text)?;
    } else {
        writeln!(page, ".PD 0\n.TP")?;
        line(page, term)?;
        if !text.is_empty() {
            line(page, text)?;
        }
    }
    if !below.is_empty() {
        writeln!(page, ".RS")?;
        blocks(page, below)?;
        writeln!(page, ".RE")?;
    }
    Ok(())
}

/// Commands, each with its remark below it.
fn examples(page: &mut Vec<u8>, examples: &[Block]) -> io::Result<()> {
    writeln!(page, ".PD 0")?;
    for example in examples {
        let (command, remark) = match example {
            Block::Item { term, text, .. } => (term, text.as_str()),
            Block::Paragraph(text) => (text, ""),
        };
        writeln!(page, ".PP")?;
        line(page, command)?;
        indented(page, remark)?;
    }
    writeln!(page, ".PD")
}

fn indented(page: &mut Vec<u8>, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    writeln!(page, ".RS")?;
    line(page, text)?;
    writeln!(page, ".RE")
}

/// Text, which whoever shows the page breaks into lines.
fn line(page: &mut Vec<u8>, text: &str) -> io::Result<()> {
    // A dot or quote at the start of a line would make it a request.
    writeln!(page, "\\&{}", escaped(text))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga")
}
