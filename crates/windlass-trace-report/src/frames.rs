//! Readable call stacks: names in place of addresses, and a script's lines in place of its interpreter.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::event::ScriptFrame;
use super::model::{RawFrame, Seen, Sum, Trace};
use super::symbols::{Function, Symbols};

/// A level of a stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Frame {
    /// The kind of the frame.
    pub kind: Kind,
    /// The function; for `object`, the file name of the object.
    pub name: String,
    /// Source file and line, or else the object's file name.
    pub place: Option<String>,
}

/// Kinds of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The loading function itself.
    Entry,
    /// A function in machine code.
    Native,
    /// Machine code without a name: one frame for adjacent frames of one object.
    Object,
    /// A line of an interpreted program.
    Script,
}

/// Loads from one place of a program.
#[derive(Clone, Debug, Serialize)]
pub struct NamedStack {
    /// The program, by its name in the report.
    pub program: String,
    /// Outermost first; the last frame is the loading function.
    pub frames: Vec<Frame>,
    /// The sums of the loads with this stack.
    #[serde(flatten)]
    pub sum: Sum,
}

/// Names every stack of a run. The most expensive one comes first.
pub fn name_all(trace: &Trace) -> Vec<NamedStack> {
    let mut names = Names { trace, symbols: Symbols::default(), known: HashMap::new() };
    let mut stacks: BTreeMap<(String, Vec<Frame>), Sum> = BTreeMap::new();
    for seen in trace.stacks.all() {
        stacks.entry((seen.program.to_owned(), names.frames(&seen))).or_default().add(seen.sum);
    }
    let mut stacks: Vec<_> =
        stacks.into_iter().map(|((program, frames), sum)| NamedStack { program, frames, sum }).collect();
    stacks.sort_by_key(|stack| std::cmp::Reverse((stack.sum.wall, stack.sum.calls)));
    stacks
}

struct Names<'a> {
    trace: &'a Trace,
    symbols: Symbols,
    known: HashMap<RawFrame, Vec<Frame>>,
}

impl Names<'_> {
    fn frames(&mut self, seen: &Seen<'_>) -> Vec<Frame> {
        let (native, inner) = self.without_interpreter(seen);
        let mut frames = Vec::new();
        for raw in native.iter().rev().chain(seen.script.iter().rev()).chain(inner.iter().rev()) {
            for frame in self.named(*raw).iter().rev() {
                if frame.kind != Kind::Object || frames.last() != Some(frame) {
                    frames.push(frame.clone());
                }
            }
        }
        frames.push(Frame { kind: Kind::Entry, name: seen.entry.to_owned(), place: None });
        frames
    }

    /// The native frames outside and inside the interpreter. Everything from its outermost to its innermost frame runs
    /// the script, whose lines are more informative. Without script lines, all native frames are outside.
    fn without_interpreter<'s>(&self, seen: &Seen<'s>) -> (&'s [RawFrame], &'s [RawFrame]) {
        let is_interpreter = |frame: &RawFrame| match frame {
            RawFrame::Native(Some(number), _) => {
                self.trace.processes.module_of(*number).is_some_and(|module| is_interpreter(&module.path))
            }
            _ => false,
        };
        let innermost = seen.native.iter().position(is_interpreter);
        let outermost = seen.native.iter().rposition(is_interpreter);
        match (innermost, outermost) {
            (Some(innermost), Some(outermost)) if !seen.script.is_empty() => {
                (&seen.native[outermost + 1..], &seen.native[..innermost])
            }
            _ => (seen.native, &[]),
        }
    }

    /// The frames of an address, innermost first.
    fn named(&mut self, raw: RawFrame) -> &[Frame] {
        if !self.known.contains_key(&raw) {
            let frames = self.look_up(raw);
            self.known.insert(raw, frames);
        }
        self.known.get(&raw).map_or(&[], Vec::as_slice)
    }

    fn look_up(&mut self, raw: RawFrame) -> Vec<Frame> {
        match raw {
            RawFrame::Script(number) => self.trace.stacks.script(number).map(script).into_iter().collect(),
            RawFrame::Native(number, address) => {
                let Some(module) = number.and_then(|number| self.trace.processes.module_of(number)) else {
                    return vec![Frame { kind: Kind::Object, name: String::from("unknown code"), place: None }];
                };
                let object = file_name(&module.path);
                let functions = self.symbols.at(module, address);
                if functions.is_empty() {
                    return vec![Frame { kind: Kind::Object, name: object.to_owned(), place: None }];
                }
                functions.into_iter().map(|function| native(function, object)).collect()
            }
        }
    }
}

fn native(function: Function, object: &str) -> Frame {
    let place = function.place.unwrap_or_else(|| object.to_owned());
    Frame { kind: Kind::Native, name: function.name, place: Some(place) }
}

fn script(frame: &ScriptFrame) -> Frame {
    let file = frame.file.as_deref().unwrap_or("unknown file");
    let place = frame.line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"));
    let name = frame.function.clone().filter(|name| !name.is_empty());
    Frame { kind: Kind::Script, name: name.unwrap_or_else(|| file_name(file).to_owned()), place: Some(place) }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}

/// python3.11, libpython3.11.so.1.0, ruby3.1, libruby-3.1.so.3.1, and similar names.
fn is_interpreter(path: &str) -> bool {
    let name = file_name(path);
    let name = name.strip_prefix("lib").unwrap_or(name);
    let version = ["python", "ruby"].iter().find_map(|interpreter| name.strip_prefix(interpreter));
    let version = version.map(|version| version.split(".so").next().unwrap_or(version));
    version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader;

    #[test]
    fn interpreters_are_known_by_their_names() {
        for path in
            ["/usr/bin/python3.11", "/usr/lib/libruby-3.1.so.3.1", "python", "/x/libpython3.13.so.1.0", "ruby3.1"]
        {
            assert!(is_interpreter(path), "{path}");
        }
        for path in ["/usr/lib/python3/dist-packages/_ssl.so", "/usr/lib/librubygems.so", "/bin/pythonista", "", "/"] {
            assert!(!is_interpreter(path), "{path}");
        }
    }

    fn stacks(script: &str) -> Vec<Vec<String>> {
        let modules = [(0, "/opt/none/python3.11"), (1, "/opt/none/_ssl.so"), (2, "/opt/none/libc.so.6")];
        let modules = modules.map(|(id, path)| format!(r#"{{"e":"module","pid":1,"id":{id},"path":"{path}"}}"#));
        let load = format!(
            concat!(
                r#"{{"e":"load","pid":1,"tid":1,"wall":5,"entry":"F","#,
                r#""stack":[[1,10],[0,11],[2,9],[0,12],[2,13],[2,14]],"script":{script}}}"#
            ),
            script = script
        );
        let mut trace = Trace::default();
        reader::read(format!("{}\n{load}", modules.join("\n")).as_bytes(), |event| trace.take(event)).unwrap();
        let names = |stack: NamedStack| stack.frames.into_iter().map(|frame| frame.name).collect();
        name_all(&trace).into_iter().map(names).collect()
    }

    #[test]
    fn lines_of_a_script_stand_in_place_of_its_interpreter() {
        let script = r#"[{"file":"/a/b.py","line":3,"function":"inner"},{"file":"/a/c.py","line":4,"function":null}]"#;
        assert_eq!(stacks(script), [["libc.so.6", "c.py", "inner", "_ssl.so", "F"]]);
    }

    #[test]
    fn without_lines_the_interpreter_stays() {
        for script in ["null", "[]"] {
            assert_eq!(stacks(script), [["libc.so.6", "python3.11", "libc.so.6", "python3.11", "_ssl.so", "F"]]);
        }
    }
}
