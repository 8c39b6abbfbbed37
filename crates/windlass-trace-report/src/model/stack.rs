//! Loads by call stack.

use std::collections::{BTreeMap, HashMap};

use super::super::event::{Load, ScriptFrame};
use super::process::{Process, Processes};
use super::sum::Sum;

const MAX: usize = 20_000;
const MAX_SCRIPT_FRAMES: usize = 20_000;

/// All distinct stacks.
#[derive(Debug, Default)]
pub struct Stacks {
    all: BTreeMap<Key, Sum>,
    scripts: Vec<ScriptFrame>,
    script_numbers: HashMap<ScriptFrame, u32>,
    /// Loads whose stack is not listed, because there were too many.
    pub not_listed: u64,
}

type Key = (String, Vec<RawFrame>, Vec<RawFrame>, String);

/// A frame before any lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RawFrame {
    /// An object ([`Processes::module_of`]) and a return address in it.
    Native(Option<u32>, u64),
    /// A line ([`Stacks::script`]).
    Script(u32),
}

/// A stack with its context: the program's name, the frames (innermost first), and the called function.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub program: &'a str,
    pub native: &'a [RawFrame],
    pub script: &'a [RawFrame],
    pub entry: &'a str,
    pub sum: Sum,
}

impl Stacks {
    /// All distinct stacks.
    pub fn all(&self) -> impl Iterator<Item = Seen<'_>> {
        self.all.iter().map(|((program, native, script, entry), sum)| Seen {
            program,
            native,
            script,
            entry,
            sum: *sum,
        })
    }

    /// The script line that a frame stands for.
    pub fn script(&self, number: u32) -> Option<&ScriptFrame> {
        self.scripts.get(number as usize)
    }

    /// Adds a load.
    pub fn add(&mut self, load: &Load, process: Option<&Process>, processes: &Processes) {
        let program = process.map_or("unknown program", Process::name);
        let native = load.stack.iter().flatten();
        let native = native
            .map(|(id, address)| RawFrame::Native(id.and_then(|id| processes.module_number(process, id)), *address));
        let script = load.script.iter().flatten();
        let script: Vec<_> = script.filter_map(|frame| self.script_number(frame)).map(RawFrame::Script).collect();
        let key = (program.to_owned(), native.collect(), script, load.entry.clone());
        if self.all.len() >= MAX && !self.all.contains_key(&key) {
            self.not_listed += 1;
            return;
        }
        self.all.entry(key).or_default().add(Sum::of(load));
    }

    fn script_number(&mut self, frame: &ScriptFrame) -> Option<u32> {
        if let Some(number) = self.script_numbers.get(frame) {
            return Some(*number);
        }
        let number = u32::try_from(self.scripts.len()).ok().filter(|_| self.scripts.len() < MAX_SCRIPT_FRAMES)?;
        self.script_numbers.insert(frame.clone(), number);
        self.scripts.push(frame.clone());
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{load, trace};

    #[test]
    fn equal_stacks_are_one() {
        let at = |line: u32| {
            load(
                1,
                1,
                0,
                &format!(r#","stack":[[0,16],[null,32]],"script":[{{"file":"a.py","line":{line},"function":"f"}}]"#),
            )
        };
        let trace = trace(&[at(1), at(2), at(1)]);
        let mut calls: Vec<_> = trace.stacks.all().map(|stack| (stack.sum.calls, stack.native.len())).collect();
        calls.sort_unstable();
        assert_eq!(calls, [(1, 2), (2, 2)]);
        let line = trace.stacks.script(0).unwrap();
        assert_eq!((line.file.as_deref(), line.line), (Some("a.py"), Some(1)));
    }
}
