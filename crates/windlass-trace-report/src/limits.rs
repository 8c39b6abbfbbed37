//! Limits on the stored size of an event: the library truncates its events (docs/trace-events.md), a stranger would
//! not.

use super::event::{Load, Module, Process, Source};

/// The library's own limits, in bytes.
const PATH: usize = 4_096;
const TEXT: usize = 1_024;
const ARGUMENT: usize = 400;
const ARGUMENTS: usize = 16;
const SOURCES: usize = 16;
/// For inner calls, of which many may wait for the end of the outer one.
const INNER_SOURCES: usize = 2;
const FRAMES: usize = 256;
const SCRIPT_FRAMES: usize = 64;

/// Cuts an event to the library's limits. Returns whether something was cut that distinguishes events.
pub fn cut_load(load: &mut Load) -> bool {
    let sources = if load.depth == 0 { SOURCES } else { INNER_SOURCES };
    let cut = load.sources.len() > sources;
    load.sources.truncate(sources);
    load.cwd.iter_mut().for_each(|cwd| cut_text(cwd, PATH));
    for Source { kind, path } in &mut load.sources {
        cut_text(kind, TEXT);
        path.iter_mut().for_each(|path| cut_text(path, PATH));
    }
    cut_text(&mut load.entry, TEXT);
    load.library.iter_mut().for_each(|library| cut_text(library, PATH + TEXT));
    load.stack.iter_mut().for_each(|stack| stack.truncate(FRAMES));
    if let Some(script) = &mut load.script {
        script.truncate(SCRIPT_FRAMES);
        for frame in script {
            frame.file.iter_mut().for_each(|file| cut_text(file, PATH));
            frame.function.iter_mut().for_each(|function| cut_text(function, TEXT));
        }
    }
    cut
}

/// The same for a process.
pub fn cut_process(process: &mut Process) {
    process.exe.iter_mut().for_each(|exe| cut_text(exe, PATH));
    if let Some(arguments) = &mut process.args {
        arguments.truncate(ARGUMENTS);
        arguments.iter_mut().for_each(|argument| cut_text(argument, ARGUMENT));
    }
}

/// The same for an object. A truncated path is no path, and is not found.
pub fn cut_module(module: &mut Module) {
    cut_text(&mut module.path, PATH);
    module.build_id.iter_mut().for_each(|build_id| cut_text(build_id, TEXT));
}

fn cut_text(text: &mut String, longest: usize) {
    if text.len() > longest {
        let end = (0..=longest).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    // Otherwise a short text could keep a large capacity.
    text.shrink_to_fit();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        let mut text = "ä".repeat(10);
        cut_text(&mut text, 5);
        assert_eq!(text, "ää…");
        cut_text(&mut text, 7);
        assert_eq!(text, "ää…");
    }

    #[test]
    fn a_large_event_becomes_a_small_one() {
        let long = "x".repeat(100_000);
        let source = format!(r#"{{"kind":"{long}","path":"{long}"}}"#);
        let line = format!(
            concat!(
                r#"{{"pid":1,"tid":1,"entry":"{long}","library":"{long}","sources":[{sources}],"#,
                r#""stack":[{stack}[0,1]],"script":[{{"file":"{long}","function":"{long}"}}]}}"#
            ),
            long = long,
            sources = vec![source; 18].join(","),
            stack = "[0,1],".repeat(10_000),
        );
        let mut load: Load = serde_json::from_str(&line).unwrap();
        assert!(cut_load(&mut load));
        assert_eq!((load.sources.len(), load.stack.as_ref().map(Vec::len)), (SOURCES, Some(FRAMES)));
        assert!(load.entry.len() + load.sources.iter().map(|source| source.kind.len()).sum::<usize>() < 20_000);
    }
}
