//! DWARF expressions, as far as compilers use them for frames (realigned stacks, procedure linkage tables, frames of
//! signals).

use super::memory::Memory;
use super::registers::Registers;
use super::tables::Reader;

const MOST: usize = 16;
const MOST_STEPS: usize = 64;

/// The value of an expression that begins with `first` on its stack; `None` if it needs what is not known.
pub fn value(mut code: Reader, first: Option<usize>, registers: &Registers, memory: &Memory) -> Option<usize> {
    let mut stack: Vec<usize> = Vec::with_capacity(MOST);
    stack.extend(first);
    for _ in 0..MOST_STEPS {
        if code.is_at_end() {
            return stack.pop();
        }
        let operation = code.byte()?;
        let value = match operation {
            0x06 => memory.word(stack.pop()?)?,
            0x08 => code.number(1)? as usize,
            0x09 => code.signed(1)? as usize,
            0x0a => code.number(2)? as usize,
            0x0b => code.signed(2)? as usize,
            0x0c => code.number(4)? as usize,
            0x0d => code.signed(4)? as usize,
            0x0e => code.number(8)? as usize,
            0x10 => code.leb()? as usize,
            0x11 => code.signed_leb()? as usize,
            0x12 => *stack.last()?,
            0x23 => stack.pop()?.wrapping_add(code.leb()? as usize),
            0x30..=0x4f => usize::from(operation - 0x30),
            0x70..=0x8f => {
                let register = registers.values.get(usize::from(operation - 0x70)).copied()??;
                register.wrapping_add(code.signed_leb()? as usize)
            }
            _ => {
                let (right, left) = (stack.pop()?, stack.pop()?);
                let (signed_left, signed_right) = (left as isize, right as isize);
                match operation {
                    0x1a => left & right,
                    0x1c => left.wrapping_sub(right),
                    0x1e => left.wrapping_mul(right),
                    0x21 => left | right,
                    0x22 => left.wrapping_add(right),
                    0x24 => left.checked_shl(u32::try_from(right).ok()?)?,
                    0x25 => left.checked_shr(u32::try_from(right).ok()?)?,
                    0x29 => usize::from(left == right),
                    0x2a => usize::from(signed_left >= signed_right),
                    0x2b => usize::from(signed_left > signed_right),
                    0x2c => usize::from(signed_left <= signed_right),
                    0x2d => usize::from(signed_left < signed_right),
                    0x2e => usize::from(left != right),
                    _ => return None,
                }
            }
        };
        if stack.len() == MOST {
            return None;
        }
        stack.push(value);
    }
    None
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
