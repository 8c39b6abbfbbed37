//! `doctor --explain` and `doctor --list`.

use anstyle::Style;
use windlass_doctor::check::Check;
use windlass_doctor::registry;

use super::columns;
use super::terminal::Terminal;
use super::wrap::wrapped;

const BOLD: Style = Style::new().bold();

/// All about one check.
pub fn render(check: &Check, terminal: Terminal) -> String {
    let mut text = format!("{} ({})\n", terminal.paint(BOLD, check.id), check.severity.name());
    text.push_str(&wrapped(check.title, "  ", "  ", terminal.width()));
    for paragraph in check.explanation.split("\n\n") {
        text.push('\n');
        text.push_str(&wrapped(paragraph, "  ", "  ", terminal.width()));
    }
    text
}

/// All checks.
pub fn list() -> String {
    let cells = |check: &Check| [check.id.to_owned(), check.severity.name().to_owned(), check.title.to_owned()];
    columns::table(["CHECK", "SEVERITY", "FINDS"], &[], registry::all().map(cells).collect())
}
