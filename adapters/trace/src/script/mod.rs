//! The frames of an interpreter, for programs whose native frames say little.

mod frame;
mod python;
mod ruby;

use windlass_interpose::family::Family;

use crate::find_object::Object;
use crate::json;
use frame::Frame;

/// The frames of interpreted code.
pub struct Script {
    /// As JSON, innermost first; `null` where there are none.
    pub list: String,
    /// The object that contains the interpreter.
    pub interpreter: Option<Object>,
}

/// The frames of Python or Ruby code on this thread.
pub fn frames() -> Script {
    type Frames = fn(&[usize]) -> Option<Vec<Frame>>;
    let kinds = [(&PYTHON, &python::FUNCTIONS[..], python::frames as Frames), (&RUBY, &ruby::FUNCTIONS, ruby::frames)];
    let found = kinds.into_iter().find_map(|(interpreters, names, frames)| {
        let (_, interpreter) = interpreters.copies().next()?;
        let functions = names.iter().map(|name| interpreter.find(*name)).collect::<Option<Vec<usize>>>()?;
        Some((frames(&functions)?, Object::of(*functions.first()?)?))
    });
    let found = found.filter(|(frames, _)| !frames.is_empty());
    let Some((frames, interpreter)) = found else { return Script { list: "null".to_owned(), interpreter: None } };
    let list = json::list(&frames, |out, frame| {
        out.push_str("{\"file\":");
        json::string(out, &frame.file, json::LONGEST_PATH);
        out.push_str(&format!(",\"line\":{},\"function\":", frame.line));
        json::string(out, &frame.function, json::LONGEST_TEXT);
        out.push('}');
    });
    Script { list, interpreter: Some(interpreter) }
}

/// Interpreters of Python. None of their functions is hooked, but they are known as soon as they are loaded.
pub static PYTHON: Family = Family::new(&[python::FUNCTIONS[0]]);
/// Interpreters of Ruby.
pub static RUBY: Family = Family::new(&[ruby::FUNCTIONS[1]]);
