//! Help texts as data: `--help` and the manual pages are two renderings of it.

use crate::cli;
use crate::cmd::{cache, compile, completions, doctor, ls, man, run, top, trace};
use crate::exit::Exit;
use crate::output::wrap::wrapped;

/// Lines are no longer than this, however wide the terminal is.
pub const WIDEST: u16 = 100;
/// A list with a longer term has its meanings below the terms.
const LONGEST_TERM: usize = 20;

/// A titled part of a help text. Without a title, it continues the description.
#[derive(Debug)]
pub struct Section {
    /// Its title, as in a sentence.
    pub title: &'static str,
    /// Its content, in order.
    pub blocks: &'static [Block],
}

/// An element of a section.
#[derive(Debug)]
pub enum Block {
    /// A paragraph.
    Text(&'static str),
    /// A command line to paste, and a remark on it.
    Example(&'static str, &'static str),
    /// A term and its meaning.
    Item(&'static str, &'static str),
    /// A term, its meaning, and a list below it.
    List(&'static str, &'static str, &'static [Block]),
}

/// The first field of every JSON object that the command prints.
pub const SCHEMA: Block = Block::Item("schema", "1; a larger number means an incompatible change");

/// A part of a help text.
pub const fn section(title: &'static str, blocks: &'static [Block]) -> Section {
    Section { title, blocks }
}

/// The sections of a command, by the name of its page: `cache-status`. The name of the whole command is empty.
pub fn sections(page: &str) -> &'static [Section] {
    match page {
        "" => cli::HELP,
        "run" => run::args::HELP,
        "ls" => ls::args::HELP,
        "compile" => compile::args::HELP,
        "cache" => cache::args::HELP,
        "cache-status" => cache::args::STATUS_HELP,
        "cache-clear" => cache::args::CLEAR_HELP,
        "doctor" => doctor::args::HELP,
        "prune" => cli::prune::HELP,
        "install" => cli::install::INSTALL_HELP,
        "uninstall" => cli::install::UNINSTALL_HELP,
        "trace" => trace::args::HELP,
        "top" => top::args::HELP,
        "completions" => completions::HELP,
        "man" => man::HELP,
        _ => &[],
    }
}

/// Gives a command and its subcommands what `--help` prints behind their options.
pub fn with_help(command: clap::Command, page: &str, width: u16) -> clap::Command {
    let names: Vec<_> = command.get_subcommands().map(|subcommand| subcommand.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        let below = if page.is_empty() { name.clone() } else { format!("{page}-{name}") };
        command.mut_subcommand(name, |subcommand| with_help(subcommand, &below, width))
    });
    command.after_long_help(text(page, width))
}

/// The examples of the whole command, which `-h` prints as well.
pub fn examples(width: u16) -> String {
    cli::HELP.iter().filter(|section| section.title == "Examples").map(|section| of_section(section, width)).collect()
}

/// The sections of a command and its exit statuses, in lines of this width.
fn text(page: &str, width: u16) -> String {
    let mut text: String = sections(page).iter().map(|section| of_section(section, width) + "\n").collect();
    text.push_str("Exit status:\n");
    let (statuses, remark) = Exit::table(page);
    for (status, meaning) in statuses {
        text.push_str(&wrapped(&meaning, &format!("  {status:>3}  "), "       ", Some(width)));
    }
    if let Some(remark) = remark {
        text.push('\n');
        text.push_str(&wrapped(remark, "", "", Some(width)));
    }
    text
}

fn of_section(section: &Section, width: u16) -> String {
    if section.title.is_empty() {
        return blocks(section.blocks, 0, width);
    }
    format!("{}:\n{}", section.title, blocks(section.blocks, 2, width))
}

fn blocks(blocks: &[Block], indent: usize, width: u16) -> String {
    let margin = " ".repeat(indent);
    let has_remarks_beside = remarks_fit(blocks, indent, width);
    let longest_example = longest(blocks, |block| if let Block::Example(line, _) = block { Some(line) } else { None });
    let longest_term =
        longest(
            blocks,
            |block| if let Block::Item(term, _) | Block::List(term, ..) = block { Some(term) } else { None },
        );
    let column = if longest_term > LONGEST_TERM { indent + 8 } else { indent + longest_term + 2 };
    let mut text = String::new();
    let mut was_text = false;
    for block in blocks {
        match block {
            Block::Text(paragraph) => {
                text.push_str(if was_text { "\n" } else { "" });
                text.push_str(&wrapped(paragraph, &margin, &margin, Some(width)));
            }
            Block::Example(line, "") => text.push_str(&format!("{margin}{line}\n")),
            Block::Example(line, remark) if has_remarks_beside => {
                text.push_str(&format!("{margin}{line:longest_example$}  {remark}\n"));
            }
            Block::Example(line, remark) => {
                let below = " ".repeat(indent + 4);
                text.push_str(&format!("{margin}{line}\n{}", wrapped(remark, &below, &below, Some(width))));
            }
            Block::Item(term, meaning) | Block::List(term, meaning, _) => {
                let then = " ".repeat(column);
                let first = if longest_term > LONGEST_TERM {
                    text.push_str(&format!("{margin}{term}\n"));
                    then.clone()
                } else {
                    format!("{:column$}", format!("{margin}{term}"))
                };
                text.push_str(&wrapped(meaning, &first, &then, Some(width)));
            }
        }
        if let Block::List(_, _, list) = block {
            text.push_str(&self::blocks(list, indent + 2, width));
        }
        was_text = matches!(block, Block::Text(_));
    }
    text
}

fn longest(blocks: &[Block], of: impl Fn(&Block) -> Option<&&'static str>) -> usize {
    blocks.iter().filter_map(of).map(|text| text.len()).max().unwrap_or(0)
}

/// Otherwise each remark stands below its command line.
fn remarks_fit(blocks: &[Block], indent: usize, width: u16) -> bool {
    let line = longest(blocks, |block| if let Block::Example(line, _) = block { Some(line) } else { None });
    let remark = longest(blocks, |block| if let Block::Example(_, remark) = block { Some(remark) } else { None });
    indent + line + 2 + remark <= usize::from(width)
}
