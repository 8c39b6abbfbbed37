//! Walking from frame to frame. The walk ends at anything irregular.

use gimli::{CfaRule, Register, RegisterRule};

use super::expression;
use super::memory::Memory;
use super::registers::{COUNT, Registers, STACK};
use super::tables::{Context, Found, Table};
use crate::find_object::Object;

/// More frames than a program needs whose frames belong to this library and to interpreters.
const MOST: usize = 256;

/// Calls `visit` with the address of the call in each frame and the object that contains it, innermost first, until
/// `visit` returns `false`.
pub fn from(mut registers: Registers, mut visit: impl FnMut(usize, &Object) -> bool) {
    let memory = Box::new(Memory::new());
    let mut context = Context::new_in();
    let mut is_exact = false;
    let mut last: Option<(Object, Box<Table>)> = None;
    for _ in 0..MOST {
        // A return address points to the next instruction, which may belong to another line or another function.
        let address = if is_exact { registers.at } else { registers.at.wrapping_sub(1) };
        let Some(object) = Object::of(address) else { return };
        if !visit(address, &object) {
            return;
        }
        // Many callers are in the same object.
        if !last.as_ref().is_some_and(|(last, _)| last.is(&object)) {
            // SAFETY: an object whose code is on this thread's stack. If the stack is another one's (see `mod.rs`): a
            // loaded object that could only be unloaded at this very moment.
            last = unsafe { Table::of(&object, &memory) }.map(|table| (object, table));
        }
        let Some((_, table)) = &last else { return };
        let found = caller(&registers, address, is_exact, table, &mut context);
        let Some((caller, from_signal)) = found else { return };
        (registers, is_exact) = (caller, from_signal);
    }
}

/// The registers of the frame that has called this one, and whether a signal interrupted it instead.
pub(super) fn caller(
    frame: &Registers,
    address: usize,
    is_exact: bool,
    table: &Table,
    context: &mut Context,
) -> Option<(Registers, bool)> {
    let Found { row, returns_to, is_signal } = table.find(address, context)?;
    let memory = table.memory;
    let register = |number: Register| frame.values.get(usize::from(number.0)).copied().flatten();
    let base = match row.cfa() {
        CfaRule::RegisterAndOffset { register: from, offset } => register(*from)?.wrapping_add(*offset as usize),
        CfaRule::Expression(code) => expression::value(table.code(code)?, None, frame, memory)?,
    };
    // A register without a rule has the caller's value.
    let rule = |number: usize| row.register(Register(number as u16)).unwrap_or(RegisterRule::SameValue);
    // A function that has called another one keeps its own return address elsewhere, and x86-64 has no register for it.
    let is_in_register = is_exact && cfg!(target_arch = "aarch64");
    if !is_in_register && rule(returns_to) == RegisterRule::SameValue {
        return None;
    }
    // Stacks grow downwards, if only by that address; only a signal can be handled on another stack.
    let stack = frame.values[STACK]?;
    if !is_signal && (base < stack || base == stack && !is_in_register) {
        return None;
    }
    let mut values = [None; COUNT];
    for (number, value) in values.iter_mut().enumerate() {
        let computed = |code| expression::value(table.code(code)?, Some(base), frame, memory);
        *value = match &rule(number) {
            RegisterRule::SameValue => frame.values[number],
            RegisterRule::Offset(distance) => memory.word(base.wrapping_add(*distance as usize)),
            RegisterRule::ValOffset(distance) => Some(base.wrapping_add(*distance as usize)),
            RegisterRule::Register(from) => register(*from),
            RegisterRule::Expression(code) => computed(code).and_then(|address| memory.word(address)),
            RegisterRule::ValExpression(code) => computed(code),
            _ => None,
        };
    }
    let at = unsigned(values.get(returns_to).copied()??);
    if rule(STACK) == RegisterRule::SameValue {
        values[STACK] = Some(base);
    }
    (at != 0).then_some((Registers { values, at }, is_signal))
}

/// Removes the signature that AArch64 can keep in the unused bits of a return address.
fn unsigned(address: usize) -> usize {
    if cfg!(target_arch = "aarch64") { address & ((1 << 48) - 1) } else { address }
}

#[cfg(test)]
mod tests {
    use std::ffi::{c_int, c_void};

    use crate::stack::registers;

    unsafe extern "C" {
        fn _Unwind_Backtrace(note: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int, data: *mut c_void)
        -> c_int;
        fn _Unwind_GetIP(context: *mut c_void) -> usize;
    }

    unsafe extern "C" fn note(context: *mut c_void, frames: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes its context, and `frames` unchanged.
        unsafe { (*frames.cast::<Vec<usize>>()).push(_Unwind_GetIP(context).wrapping_sub(1)) };
        0
    }

    #[inline(never)]
    fn both() -> (Vec<usize>, Vec<usize>) {
        let (mut ours, mut theirs) = (Vec::new(), Vec::<usize>::new());
        super::from(registers::here(), |address, _| {
            ours.push(address);
            true
        });
        // SAFETY: the callback keeps nothing.
        unsafe { _Unwind_Backtrace(note, (&raw mut theirs).cast()) };
        (ours, theirs)
    }

    #[test]
    fn finds_the_frames_that_the_compilers_unwinder_finds() {
        let (ours, theirs) = both();
        // The first frame is in different places of `both`; theirs also has the frames behind the first function.
        assert!(ours.len() > 5, "{ours:x?}");
        assert_eq!(ours[1..], theirs[1..ours.len()], "{theirs:x?}");
        assert!(theirs.len() - ours.len() <= 1);
    }
}
