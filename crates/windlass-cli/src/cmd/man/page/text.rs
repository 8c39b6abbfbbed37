//! The running text, lists and examples of a help text, which are laid out in lines there, taken apart again.

/// A part of a help text.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    /// Its title, and what it says besides behind a comma; none of running text.
    pub title: Option<String>,
    /// What is in it.
    pub blocks: Vec<Block>,
}

/// Running text, or an entry of a list.
#[derive(Debug, PartialEq, Eq)]
pub enum Block {
    /// A paragraph.
    Paragraph(String),
    /// A term, what it means, and a list below it.
    Item { term: String, text: String, below: Vec<Block> },
}

/// The section of commands to try, in which each line is one.
pub const EXAMPLES: &str = "Examples";

/// The parts of a help text: blank lines stand between them.
pub fn parts(help: &str) -> Vec<Part> {
    help.split("\n\n").map(str::trim_end).filter(|part| !part.is_empty()).map(part).collect()
}

fn part(text: &str) -> Part {
    let text = text.trim_start_matches('\n');
    let titled = text.split_once(":\n").filter(|(title, body)| !title.contains('\n') && body.starts_with(' '));
    let Some((title, body)) = titled else { return Part { title: None, blocks: blocks(&lines(text)) } };
    // A title is a few words. What it says besides comes first in its section.
    let (title, rest) = title.split_at(title.find([',', ';']).unwrap_or(title.len()));
    let rest = rest.trim_start_matches([',', ';', ' ']);
    let first = (!rest.is_empty()).then(|| Block::Paragraph(format!("{}:", capitalised(rest))));
    let body = if title == EXAMPLES { examples(body) } else { blocks(&lines(body)) };
    Part { title: Some(title.to_owned()), blocks: first.into_iter().chain(body).collect() }
}

fn capitalised(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

fn examples(body: &str) -> Vec<Block> {
    let item = |line: Line<'_>| {
        let (term, text) =
            line.definition(None).map_or((line.text, ""), |definition| (definition.term, definition.text));
        Block::Item { term: term.to_owned(), text: text.to_owned(), below: Vec::new() }
    };
    lines(body).into_iter().map(item).collect()
}

#[derive(Clone, Copy)]
struct Line<'a> {
    indent: usize,
    text: &'a str,
}

/// A term and its meaning in one line.
struct Definition<'a> {
    term: &'a str,
    text: &'a str,
    /// Where the meaning begins, and goes on in the next lines.
    column: usize,
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let line = |line: &'_ str| line.len() - line.trim_start().len();
    text.lines().map(|text| Line { indent: line(text), text: text.trim() }).collect()
}

impl<'a> Line<'a> {
    /// `known` is where the term before begins, and its meaning: a term that reaches up to there has a single blank
    /// behind it.
    fn definition(&self, known: Option<(usize, usize)>) -> Option<Definition<'a>> {
        let Some((term, rest)) = self.text.split_once("  ") else {
            let (indent, column) = known.filter(|(indent, _)| *indent == self.indent)?;
            let (term, text) = self.text.split_at_checked(column - indent)?;
            let term = term.strip_suffix(' ').filter(|term| !term.contains(' '))?;
            return Some(Definition { term, text, column });
        };
        let text = rest.trim_start();
        Some(Definition { term, text, column: self.indent + self.text.len() - text.len() })
    }
}

/// How many of the first lines are so.
fn count(lines: &[Line<'_>], is: impl Fn(&Line<'_>) -> bool) -> usize {
    lines.iter().take_while(|line| is(line)).count()
}

fn joined(first: &str, lines: &[Line<'_>]) -> String {
    let all: Vec<_> = std::iter::once(first).chain(lines.iter().map(|line| line.text)).collect();
    all.join(" ")
}

fn blocks(mut lines: &[Line<'_>]) -> Vec<Block> {
    let mut all = Vec::new();
    let mut known = None;
    while let Some((first, after)) = lines.split_first() {
        let indent = first.indent;
        let is_deeper = |line: &Line<'_>| line.indent > indent;
        if let Some(Definition { term, text, column }) = first.definition(known) {
            known = Some((indent, column));
            let (own, later) = after.split_at(count(after, is_deeper));
            let (more, below) = own.split_at(count(own, |line| line.indent == column));
            all.push(Block::Item { term: term.to_owned(), text: joined(text, more), below: blocks(below) });
            lines = later;
            continue;
        }
        let (more, later) =
            after.split_at(count(after, |line| line.indent == indent && line.definition(known).is_none()));
        let (below, later) = later.split_at(count(later, is_deeper));
        let text = joined(first.text, more);
        let mut below = blocks(below);
        lines = later;
        if below.is_empty() || text.ends_with(':') {
            all.push(Block::Paragraph(text));
            all.append(&mut below);
            continue;
        }
        let meaning = match below.first() {
            Some(Block::Paragraph(_)) => match below.remove(0) {
                Block::Paragraph(meaning) => meaning,
                Block::Item { .. } => String::new(),
            },
            _ => String::new(),
        };
        all.push(Block::Item { term: text, text: meaning, below });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paragraph(text: &str) -> Block {
        Block::Paragraph(text.to_owned())
    }

    fn item(term: &str, text: &str, below: Vec<Block>) -> Block {
        Block::Item { term: term.to_owned(), text: text.to_owned(), below }
    }

    #[test]
    fn lists_within_lists_and_what_goes_on_in_the_next_line() {
        let help = "\
Output of --json, one object; sizes are
bytes:
  never a title
";
        assert_eq!(parts(help)[0].title, None);
        let help = "\
Output of --json, one object; sizes are bytes:
  schema   1; a larger number
           means a change
  stores   each with
    path     without links
    kind     one of
             two
    how_long a time
    and      more
  notes    for people
With --undo, instead:
  backup   its name
A name that is no
UTF-8.
";
        let expected = vec![
            paragraph("One object; sizes are bytes:"),
            item("schema", "1; a larger number means a change", vec![]),
            item(
                "stores",
                "each with",
                vec![
                    item("path", "without links", vec![]),
                    item("kind", "one of two", vec![]),
                    item("how_long", "a time", vec![]),
                    item("and", "more", vec![]),
                ],
            ),
            item("notes", "for people", vec![]),
            paragraph("With --undo, instead:"),
            item("backup", "its name", vec![]),
            paragraph("A name that is no UTF-8."),
        ];
        assert_eq!(parts(help), [Part { title: Some("Output of --json".to_owned()), blocks: expected }]);
    }

    #[test]
    fn terms_above_their_meaning() {
        let help = "Environment:\n  A, B,\n  C\n          what these\n          are\n  D is\n  looked at\n";
        let expected = vec![item("A, B, C", "what these are", vec![]), paragraph("D is looked at")];
        assert_eq!(parts(help)[0].blocks, expected);
    }

    #[test]
    fn each_example_is_one() {
        let help = "Examples:\n  windlass ls\n  windlass ls --json x    as JSON\n\nRunning text,\nin lines.\n";
        let examples = vec![item("windlass ls", "", vec![]), item("windlass ls --json x", "as JSON", vec![])];
        let expected = [
            Part { title: Some(EXAMPLES.to_owned()), blocks: examples },
            Part { title: None, blocks: vec![paragraph("Running text, in lines.")] },
        ];
        assert_eq!(parts(help), expected);
    }
}
