//! A manual page: clap_mangen renders what clap's definition has, and the help sections are added to it.

use std::io;

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::exit::Exit;
use crate::help::{self, Block, Section};

/// The page, in roff. `see_also` are names of pages of section 1.
pub fn render(mut definition: clap::Command, name: &str, see_also: &[String]) -> io::Result<String> {
    // clap_mangen's own synopsis lists all options, and leaves out which arguments repeat.
    let usage = definition.render_usage().to_string();
    let definition = definition.override_usage(usage.trim_start_matches("Usage: ").to_owned());
    let has_subcommands = definition.has_subcommands();
    let man = Man::new(definition);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    // Neither words cut in two, nor wide gaps between them: much of it are names to copy.
    add(&mut page, |roff| {
        roff.control("nh", []).control("ad", ["l"]);
    })?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    let (titled, untitled): (Vec<_>, Vec<_>) =
        help::sections(name).iter().partition(|section| !section.title.is_empty());
    add(&mut page, |roff| untitled.iter().for_each(|section| blocks(roff, section.blocks)))?;
    man.render_options_section(&mut page)?;
    if has_subcommands {
        man.render_subcommands_section(&mut page)?;
    }
    add(&mut page, |roff| {
        exit_statuses(roff, name);
        // The order of man-pages(7).
        let mut titled = titled;
        titled.sort_by_key(|section| match section.title {
            "Environment" => 0,
            "Files" => 1,
            "Examples" => 3,
            _ => 2,
        });
        titled.into_iter().for_each(|section| titled_section(roff, section));
        roff.control("SH", ["SEE ALSO"]);
        let pages = see_also
            .iter()
            .enumerate()
            .flat_map(|(place, name)| [roman(if place > 0 { ", " } else { "" }), bold(name.clone()), roman("(1)")]);
        roff.text(pages.collect::<Vec<_>>());
    })?;
    let page = String::from_utf8(page).map_err(io::Error::other)?;
    // In roff, a plain one is a quotation mark.
    Ok(page.replace('`', "\\(ga"))
}

fn add(page: &mut Vec<u8>, to: impl FnOnce(&mut Roff)) -> io::Result<()> {
    let mut roff = Roff::new();
    to(&mut roff);
    roff.to_writer(page)
}

fn exit_statuses(roff: &mut Roff, name: &str) {
    roff.control("SH", ["EXIT STATUS"]);
    let (statuses, remark) = Exit::table(name);
    for (status, meaning) in statuses {
        item(roff, &status.to_string(), &meaning);
    }
    roff.control("PD", []);
    if let Some(remark) = remark {
        paragraph(roff, remark);
    }
}

/// In capitals, but for options: `OUTPUT OF --json`.
fn titled_section(roff: &mut Roff, section: &Section) {
    let words = section.title.split(' ');
    let words = words.map(|word| if word.starts_with('-') { word.to_owned() } else { word.to_uppercase() });
    roff.control("SH", [words.collect::<Vec<_>>().join(" ").replace('-', "\\-").as_str()]);
    blocks(roff, section.blocks);
}

fn blocks(roff: &mut Roff, blocks: &[Block]) {
    for block in blocks {
        match block {
            Block::Text(text) => paragraph(roff, text),
            Block::Example(line, remark) => {
                roff.control("PD", ["0"]).control("PP", []).text([bold(*line)]);
                if !remark.is_empty() {
                    roff.control("RS", []).text([roman(*remark)]).control("RE", []);
                }
            }
            Block::Item(term, meaning) => item(roff, term, meaning),
            Block::List(term, meaning, list) => {
                item(roff, term, meaning);
                roff.control("RS", []);
                self::blocks(roff, list);
                roff.control("RE", []);
            }
        }
    }
    roff.control("PD", []);
}

fn paragraph(roff: &mut Roff, text: &str) {
    roff.control("PD", []).control("PP", []).text([roman(text)]);
}

fn item(roff: &mut Roff, term: &str, meaning: &str) {
    roff.control("PD", ["0"]).control("TP", []).text([bold(term)]).text([roman(meaning)]);
}
