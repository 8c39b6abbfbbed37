//! DWARF expressions that need nothing but registers and memory (realigned stacks, procedure linkage tables, frames of
//! signals).

use gimli::{Encoding, Evaluation, EvaluationResult, EvaluationStorage, Format, Location, Piece, Value};

use super::memory::Memory;
use super::reader::Reader;
use super::registers::Registers;

const MOST_STEPS: u32 = 64;
const ENCODING: Encoding = Encoding { address_size: size_of::<usize>() as u8, format: Format::Dwarf32, version: 4 };

struct Bounded;

impl<'a> EvaluationStorage<Reader<'a>> for Bounded {
    type Stack = [Value; 16];
    type ExpressionStack = [(Reader<'a>, Reader<'a>); 1];
    type Result = [Piece<Reader<'a>>; 1];
}

/// The value of an expression that begins with `first` on its stack; `None` if it needs something unknown.
#[inline(never)]
pub fn value(code: Reader, first: Option<usize>, registers: &Registers, memory: &Memory) -> Option<usize> {
    let mut evaluation = Evaluation::<_, Bounded>::new_in(code, ENCODING);
    evaluation.set_max_iterations(MOST_STEPS);
    if let Some(first) = first {
        evaluation.set_initial_value(first as u64);
    }
    let generic = |value: usize| Value::Generic(value as u64);
    let mut reached = evaluation.evaluate().ok()?;
    loop {
        reached = match reached {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresMemory { address, size, space: None, .. } if size == ENCODING.address_size => {
                evaluation.resume_with_memory(generic(memory.word(address as usize)?)).ok()?
            }
            EvaluationResult::RequiresRegister { register, .. } => {
                let value = registers.values.get(usize::from(register.0)).copied()??;
                evaluation.resume_with_register(generic(value)).ok()?
            }
            _ => return None,
        };
    }
    match evaluation.as_result() {
        [Piece { location: Location::Address { address }, .. }] => Some(*address as usize),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::registers::COUNT;

    fn of(code: &[u8]) -> Option<usize> {
        let mut values = [None; COUNT];
        values[7] = Some(1000);
        let memory = Memory::new();
        let begin = code.as_ptr() as usize;
        let code = Reader::new(&memory, begin, begin + code.len());
        value(code, None, &Registers { values, at: 0 }, &memory)
    }

    #[test]
    fn computes_what_compilers_write() {
        // breg7 8, breg7 0, lit15, and, lit11, ge, lit3, shl, plus: an entry of a procedure linkage table.
        assert_eq!(of(&[0x77, 8, 0x77, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22]), Some(1008));
        // breg7 8, lit3, lit8, mul, plus: libcrypto's frames for big numbers.
        assert_eq!(of(&[0x77, 8, 0x33, 0x38, 0x1e, 0x22]), Some(1032));
        assert_eq!(of(&[0x77, 0x78]), Some(992));
        assert_eq!(of(&[0x77, 0x7f, 0x23, 0x81, 0x01, 0x12, 0x1c]), Some(0));
    }

    #[test]
    fn gives_up_where_something_is_missing() {
        for code in
            [&[][..], &[0x22], &[0x31, 0x22], &[0x76, 0], &[0x77], &[0x77, 0x80], &[0x31, 0x06], &[0xff], &[0x31; 100]]
        {
            assert_eq!(of(code), None, "{code:x?}");
        }
    }
}
