//! The frames of an interpreter, for programs whose native frames say little.

mod python;
mod ruby;

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use windlass_interpose::definitions::Name;
use windlass_interpose::linker;

use crate::find_object::Object;
use crate::json;

const MOST: usize = 64;

/// One frame.
struct Frame {
    file: Vec<u8>,
    line: i64,
    function: Vec<u8>,
}

/// The frames of interpreted code.
pub struct Script {
    /// As JSON, innermost first; `null` where there are none.
    pub list: String,
    /// The object that runs them.
    pub interpreter: Option<Object>,
}

/// The frames of Python or Ruby code on this thread.
pub fn frames() -> Script {
    type Frames = fn(&[usize]) -> Option<Vec<Frame>>;
    look();
    let kinds = [(&PYTHON, python::frames as Frames), (&RUBY, ruby::frames)];
    let found = kinds.into_iter().find_map(|(kind, frames)| {
        let interpreter = kind.get()?;
        Some((frames(&interpreter.functions)?, interpreter.object))
    });
    let found = found.filter(|(frames, _)| !frames.is_empty());
    let Some((frames, interpreter)) = found else { return Script { list: "null".to_owned(), interpreter: None } };
    let mut list = String::from("[");
    for frame in &frames {
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str("{\"file\":");
        json::string(&mut list, &frame.file, json::LONGEST_PATH);
        list.push_str(&format!(",\"line\":{},\"function\":", frame.line));
        json::string(&mut list, &frame.function, json::LONGEST_TEXT);
        list.push('}');
    }
    list.push(']');
    Script { list, interpreter: Some(interpreter) }
}

static PYTHON: Kind = Kind::new(&python::FUNCTIONS);
static RUBY: Kind = Kind::new(&ruby::FUNCTIONS);

/// Interpreters of one language.
struct Kind {
    names: &'static [Name<'static>],
    found: AtomicPtr<Interpreter>,
}

/// One that is loaded.
struct Interpreter {
    object: Object,
    /// Addresses of the functions, as they are named.
    functions: Vec<usize>,
}

impl Kind {
    const fn new(names: &'static [Name<'static>]) -> Kind {
        Kind { names, found: AtomicPtr::new(ptr::null_mut()) }
    }

    /// The interpreter that was found, if it is still there.
    fn get(&self) -> Option<&'static Interpreter> {
        // SAFETY: only pointers from Box::into_raw are stored, and none is ever freed.
        let found = unsafe { self.found.load(Ordering::Acquire).as_ref() };
        found.filter(|found| found.object.is_there())
    }

    fn look(&self) {
        if self.get().is_some() {
            return;
        }
        let mut found = None;
        linker::each_object(0, |object| {
            if let Some(definitions) = object.definitions() {
                found = self.names.iter().map(|name| definitions.find(*name)).collect::<Option<Vec<usize>>>();
            }
            found.is_none()
        });
        let Some(functions) = found else { return };
        let Some(object) = functions.first().and_then(|address| Object::of(*address)) else { return };
        let interpreter = Interpreter { object, functions };
        self.found.store(Box::into_raw(Box::new(interpreter)), Ordering::Release);
    }
}

/// Looks for interpreters, where objects were added since.
fn look() {
    static ADDED: AtomicU64 = AtomicU64::new(0);
    if linker::is_out_of_reach() {
        return;
    }
    let (added, _) = linker::counters();
    if ADDED.swap(added, Ordering::Relaxed) != added {
        PYTHON.look();
        RUBY.look();
    }
}
