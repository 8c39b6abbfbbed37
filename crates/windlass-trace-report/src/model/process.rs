//! The processes of a run: their loads, the memory they hold for stores, and their objects.

use std::collections::HashMap;

use super::super::event::{self, Load};
use super::held::Held;

const MAX: usize = 10_000;
const MAX_MODULES: usize = 4_096;
const MAX_STORES: usize = 200_000;
const MAX_PROGRAMS: usize = 16;

/// All processes, in the order of their first event.
#[derive(Debug, Default)]
pub struct Processes {
    all: Vec<Process>,
    running: HashMap<u32, usize>,
    modules: Vec<Module>,
    module_numbers: HashMap<Module, u32>,
    /// The memory held by the stores of all processes.
    pub held: Held,
    /// The number of tracked stores.
    stores: usize,
    /// Processes that are not in the list.
    pub not_listed: u64,
}

/// A process of the run.
#[derive(Debug, Default)]
pub struct Process {
    pub pid: u32,
    pub ppid: Option<u32>,
    pub start: Option<u64>,
    pub end: Option<u64>,
    /// Every program that it executed, in order.
    pub programs: Vec<String>,
    /// The arguments of the last program.
    pub arguments: Vec<String>,
    pub loads: u64,
    pub failed: u64,
    /// Loads that only registered a directory.
    pub noted: u64,
    pub certificates: u64,
    /// Loads for which the number of parsed certificates is unknown.
    pub certificates_unknown: u64,
    pub wall: u64,
    pub load_cpu: u64,
    pub connections: u64,
    pub verifications: u64,
    /// CPU time of the whole process: at its end if known, or else after its last load.
    pub cpu: Option<u64>,
    /// The process reported its end, which makes `cpu` complete.
    pub ended: bool,
    pub max_rss: Option<u64>,
    /// The memory held by its stores, until its end.
    pub held: Held,
    stores: HashMap<u64, i64>,
    modules: HashMap<u32, u32>,
}

/// An object file in which addresses can be looked up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    pub path: String,
    pub build_id: Option<String>,
}

impl Process {
    /// The file name of the last program.
    pub fn name(&self) -> &str {
        let path = self.programs.last().map_or("", String::as_str);
        path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("unknown program")
    }
}

impl Processes {
    /// All processes, in the order of their start.
    pub fn all(&self) -> &[Process] {
        &self.all
    }

    /// The process at the position that [`Processes::load`] returned.
    pub fn get(&self, place: Option<usize>) -> Option<&Process> {
        self.all.get(place?)
    }

    /// An object, by its number in a [`super::RawFrame`].
    pub fn module_of(&self, number: u32) -> Option<&Module> {
        self.modules.get(number as usize)
    }

    /// The number of an object of a process.
    pub fn module_number(&self, process: Option<&Process>, id: u32) -> Option<u32> {
        process?.modules.get(&id).copied()
    }

    /// Changes a process, if it is in the list. Returns its position.
    pub fn with(&mut self, pid: u32, change: impl FnOnce(&mut Process)) -> Option<usize> {
        let place = self.place(pid)?;
        change(self.all.get_mut(place)?);
        Some(place)
    }

    /// Records a new process, or a new program in a known one. A number is reused only after its process has ended.
    pub fn start(&mut self, event: event::Process) {
        if self.running.get(&event.pid).is_some_and(|place| self.all[*place].ended) {
            self.running.remove(&event.pid);
        }
        let is_new = !self.running.contains_key(&event.pid);
        // A child has its parent's objects until it executes another program, which numbers its own objects again.
        let inherited = event
            .ppid
            .filter(|_| is_new)
            .and_then(|parent| self.running.get(&parent).map(|place| self.all[*place].modules.clone()));
        // The stores of the previous program are gone.
        self.drop_stores(event.pid);
        self.with(event.pid, |process| {
            process.held.now = 0;
            process.ppid = process.ppid.or(event.ppid);
            process.start = process.start.or(event.t);
            process.modules = inherited.unwrap_or_default();
            if let Some(exe) = event.exe {
                if process.programs.last() != Some(&exe) && process.programs.len() < MAX_PROGRAMS {
                    process.programs.push(exe);
                }
                process.arguments = event.args.unwrap_or_default();
            }
        });
    }

    /// Records an object of a process.
    pub fn module(&mut self, event: event::Module) {
        let module = Module { path: event.path, build_id: event.build_id };
        let number = match self.module_numbers.get(&module) {
            Some(number) => *number,
            None if self.modules.len() >= MAX_MODULES => return,
            None => {
                let number = self.modules.len() as u32;
                self.module_numbers.insert(module.clone(), number);
                self.modules.push(module);
                number
            }
        };
        self.with(event.pid, |process| {
            if process.modules.len() < MAX_MODULES {
                process.modules.insert(event.id, number);
            }
        });
    }

    /// Records a load that counts. Returns the position of its process.
    pub fn load(&mut self, load: &Load) -> Option<usize> {
        let may_keep = self.stores < MAX_STORES;
        let mut new_store = false;
        let place = self.with(load.pid, |process| {
            process.loads += u64::from(!load.more);
            process.failed += u64::from(load.failed() && !load.more);
            process.noted += u64::from(load.only_notes() && !load.more);
            process.certificates = process.certificates.saturating_add(load.parsed().unwrap_or(0));
            process.certificates_unknown += u64::from(load.parsed().is_none() && !load.more);
            process.wall = process.wall.saturating_add(load.wall.unwrap_or(0));
            process.load_cpu = process.load_cpu.saturating_add(load.cpu.unwrap_or(0));
            process.cpu = process.cpu.max(load.process_cpu);
            match (load.memory, load.store) {
                (Some(memory), Some(store)) if may_keep || process.stores.contains_key(&store) => {
                    new_store = !process.stores.contains_key(&store);
                    let held = process.stores.entry(store).or_default();
                    *held = held.saturating_add(memory);
                    process.held.change(memory);
                    process.held.known += 1;
                }
                // Memory that belongs to no store (a list of names, for example) may be freed without an event.
                _ => process.held.unknown += u64::from(!load.more),
            }
        });
        self.stores += usize::from(new_store);
        match load.memory.filter(|_| place.is_some() && load.store.is_some()) {
            Some(memory) => {
                self.held.change(memory);
                self.held.known += 1;
            }
            None => self.held.unknown += u64::from(!load.more),
        }
        place
    }

    /// Records that a store was freed.
    pub fn release(&mut self, pid: u32, store: Option<u64>) {
        let mut freed = None;
        self.with(pid, |process| {
            freed = store.and_then(|store| process.stores.remove(&store));
            process.held.change(freed.unwrap_or(0).saturating_neg());
        });
        if let Some(freed) = freed {
            self.stores -= 1;
            self.held.change(freed.saturating_neg());
        }
    }

    /// Records the end of a process, which frees the memory of its stores.
    pub fn exit(&mut self, event: &event::Exit) {
        self.with(event.pid, |process| {
            process.ended = true;
            process.end = event.t;
            process.cpu = event.cpu.or(process.cpu);
            process.max_rss = event.max_rss;
        });
        self.drop_stores(event.pid);
    }

    /// Subtracts the memory of a process from the sum. The process itself keeps its value.
    fn drop_stores(&mut self, pid: u32) {
        let process = self.running.get(&pid).and_then(|place| self.all.get_mut(*place));
        let stores = process.map(|process| std::mem::take(&mut process.stores)).unwrap_or_default();
        self.stores -= stores.len();
        self.held.change(stores.values().fold(0i64, |sum, held| sum.saturating_sub(*held)));
    }

    fn place(&mut self, pid: u32) -> Option<usize> {
        if let Some(place) = self.running.get(&pid) {
            return Some(*place);
        }
        if self.all.len() >= MAX {
            self.not_listed += 1;
            return None;
        }
        self.all.push(Process { pid, ..Process::default() });
        self.running.insert(pid, self.all.len() - 1);
        Some(self.all.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{load, trace};

    #[test]
    fn memory_is_held_until_the_store_is_freed() {
        let with = |store: u32, memory: i32| load(1, 1, 0, &format!(r#","store":"{store:#x}","memory":{memory}"#));
        let release = |store: u32| format!(r#"{{"e":"release","pid":1,"store":"{store:#x}"}}"#);
        let lines = [with(1, 100), with(2, 50), release(1), release(9), with(2, 20), load(1, 1, 0, "")];
        let trace = trace(&lines);
        let held = trace.processes.all()[0].held;
        assert_eq!((held.end(), held.peak(), held.unknown), (Some(70), Some(150), 1));
        assert_eq!(trace.processes.held.peak(), Some(150));
    }

    #[test]
    fn memory_that_nobody_knows_is_not_nothing() {
        let trace = trace(&[load(1, 1, 0, r#","store":"0x1","memory":null"#)]);
        assert_eq!((trace.processes.all()[0].held.peak(), trace.processes.held.peak()), (None, None));
    }

    #[test]
    fn processes_end_and_their_numbers_come_again() {
        let process = |exe: &str| format!(r#"{{"e":"process","pid":7,"ppid":1,"t":1,"exe":"{exe}","args":["a"]}}"#);
        let exit = String::from(r#"{"e":"exit","pid":7,"t":9,"cpu":50,"max_rss":4096}"#);
        let store = r#","store":"0x1","memory":100"#;
        let lines = [process("/bin/sh"), process("/bin/x"), load(7, 7, 0, store), exit, process("/bin/y")];
        let trace = trace(&lines);
        let all = trace.processes.all();
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].programs.len(), all[0].name(), all[0].cpu, all[0].ended), (2, "x", Some(50), true));
        assert_eq!(all[0].held.now, 100, "held at its end");
        assert_eq!((trace.processes.held.now, trace.processes.held.peak()), (0, Some(100)));
        assert_eq!((all[1].name(), all[1].loads), ("y", 0));
    }

    #[test]
    fn without_an_end_the_last_load_says_the_time() {
        let trace = trace(&[load(1, 1, 0, "")]);
        assert_eq!((trace.processes.all()[0].cpu, trace.processes.all()[0].ended), (Some(40), false));
    }

    #[test]
    fn a_child_has_the_objects_of_its_parent() {
        let lines = [
            String::from(r#"{"e":"process","pid":1,"exe":"/a"}"#),
            String::from(r#"{"e":"module","pid":1,"id":3,"path":"/lib/x.so","build_id":"00"}"#),
            String::from(r#"{"e":"process","pid":2,"ppid":1,"exe":"/a"}"#),
            load(2, 2, 0, r#","stack":[[3,16]]"#),
        ];
        let trace = trace(&lines);
        let process = &trace.processes.all()[1];
        let number = trace.processes.module_number(Some(process), 3).unwrap();
        assert_eq!(trace.processes.module_of(number).unwrap().path, "/lib/x.so");
    }
}
