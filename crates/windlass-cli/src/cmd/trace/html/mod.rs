//! The page of `windlass trace --html`: one file, which asks nobody for anything.
//!
//! All of it is there without scripts; the script sorts tables and enlarges the flame graph. The content security
//! policy allows this style sheet and this script by their digests, and nothing else: no request, and no script that a
//! name of a traced program might smuggle in. Names are escaped as well.

mod comparison;
mod escape;
mod flame;
mod stacks;
mod summary;
mod tables;
mod timeline;

use sha2::{Digest, Sha256};
use windlass_machine::shell::quoted;
use windlass_trace_report::report::Report;

use escape::escaped;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The whole page.
pub fn render(report: &Report) -> String {
    let title = escaped(&format!("{} – windlass trace", short(&quoted(&report.command))));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(SCRIPT)
    );
    let body = [
        summary::render(report),
        comparison::render(report),
        timeline::render(report),
        flame::render(report),
        tables::entries(report),
        stacks::render(report),
        tables::processes(report),
        tables::certificates(report),
        tables::notes(report),
    ];
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{}</main>\n\
         <footer>Made by windlass {}. Times are of the traced run; nothing on this page is estimated.</footer>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        body.concat(),
        env!("CARGO_PKG_VERSION"),
    )
}

/// A section with a heading, and a sentence below it that may have markup.
fn section(id: &str, title: &str, explanation: &str, body: &str) -> String {
    format!("<section id=\"{id}\">\n<h2>{title}</h2>\n<p class=\"about\">{explanation}</p>\n{body}</section>\n")
}

fn digest(text: &str) -> String {
    base64_simd::STANDARD.encode_to_string(Sha256::digest(text.as_bytes()))
}

fn short(text: &str) -> String {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_one_file_that_asks_for_nothing() {
        for text in [STYLE, SCRIPT] {
            for word in
                ["http:", "https:", "url(", "@import", "fetch(", "XMLHttpRequest", "import(", "innerHTML", "eval("]
            {
                assert!(!text.contains(word), "{word}");
            }
            assert!(!text.contains("</"), "it would end its element");
        }
    }
}
