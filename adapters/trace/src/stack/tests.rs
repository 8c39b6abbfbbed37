//! Malformed tables.

use std::ptr;

use gimli::{CfaRule, RegisterRule};

use super::expression;
use super::memory::Memory;
use super::registers::{COUNT, Registers, STACK};
use super::tables::{Context, Row, Table};
use super::walk::caller;
use crate::find_object::Object;

const PAGE: usize = 4096;
/// The place of the code that the table describes, from the beginning of the tables.
const CODE: usize = 0x100_0000;
/// The column of return addresses.
const RETURN: u8 = if cfg!(target_arch = "aarch64") { 30 } else { 16 };

/// An object that consists of headers and tables only, before unreadable pages. All addresses of the object are
/// reserved: other tests map and unmap memory at the same time.
struct MappedTables {
    memory: *mut u8,
    size: usize,
}

/// The last address of an object, from its beginning.
const END: usize = 2 * CODE;

impl MappedTables {
    fn of(bytes: &[u8]) -> MappedTables {
        let size = bytes.len().next_multiple_of(PAGE);
        // SAFETY: a new mapping, of which the first pages are opened and filled.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let memory = libc::mmap(ptr::null_mut(), size + END, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(memory, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(memory, size, libc::PROT_READ | libc::PROT_WRITE), 0);
            let memory = memory.cast::<u8>();
            ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len());
            MappedTables { memory, size }
        }
    }

    fn object(&self) -> Object {
        let start = self.memory as usize;
        Object { base: start, path: c"".as_ptr(), dynamic: 0, start, end: start + END }
    }

    fn row<R>(&self, address: usize, look: impl FnOnce(&Table, &Row) -> R) -> Option<R> {
        let memory = Memory::new();
        let address = self.memory as usize + address;
        // SAFETY: the tables are there.
        let table = unsafe { Table::of(&self.object(), &memory)? };
        table.find(address, &mut Context::new_in()).map(|found| look(&table, found.row))
    }

    fn frame(&self, address: usize) -> Option<(usize, i64)> {
        self.row(address, |_, row| match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => Some((usize::from(register.0), *offset)),
            CfaRule::Expression(_) => None,
        })?
    }
}

impl Drop for MappedTables {
    fn drop(&mut self) {
        // SAFETY: mapped by `of`.
        unsafe { libc::munmap(self.memory.cast(), self.size + END) };
    }
}

/// An image whose table has one entry, about 64 bytes of code.
fn image(augmentation: &[u8], data: &[u8], instructions: &[u8]) -> Vec<u8> {
    const TABLE: usize = 0x100;
    const COMMON: usize = TABLE + 20;
    let mut common = [&[0, 0, 0, 0, 1][..], augmentation, &[0, 1, 0x78, RETURN], data].concat();
    // def_cfa: the stack pointer and 8; the return address is at -8.
    common.extend([0x0c, STACK as u8, 8, 0x80 | RETURN, 1]);
    common.resize(common.len().next_multiple_of(4), 0);
    let own = COMMON + 4 + common.len();
    let begin = (CODE as i32 - (own + 8) as i32).to_le_bytes();
    let entry = [&(own as u32 + 4 - COMMON as u32).to_le_bytes()[..], &begin, &64u32.to_le_bytes(), &[0], instructions];
    let entry = entry.concat();

    let mut image = vec![0; TABLE];
    image[..4].copy_from_slice(b"\x7fELF");
    image[32..40].copy_from_slice(&64u64.to_le_bytes());
    image[56..58].copy_from_slice(&1u16.to_le_bytes());
    image[64..68].copy_from_slice(&libc::PT_GNU_EH_FRAME.to_le_bytes());
    for at in [72, 80, 88] {
        image[at..at + 8].copy_from_slice(&(TABLE as u64).to_le_bytes());
    }
    image[96..104].copy_from_slice(&20u64.to_le_bytes());
    image.extend([1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 1, 0, 0, 0]);
    image.extend(((CODE - TABLE) as u32).to_le_bytes());
    image.extend(((own - TABLE) as u32).to_le_bytes());
    image.extend((common.len() as u32).to_le_bytes());
    image.extend(common);
    image.extend((entry.len() as u32).to_le_bytes());
    image.extend(entry);
    image
}

fn usual(instructions: &[u8]) -> Vec<u8> {
    image(b"zR", &[1, 0x1b], instructions)
}

#[test]
fn rules_hold_for_the_code_that_they_are_about() {
    // advance 4, def_cfa_offset 16, advance 4, remember, def_cfa 6 and 32, advance 4, restore.
    let tables = MappedTables::of(&usual(&[0x44, 0x0e, 16, 0x44, 0x0a, 0x0c, 6, 32, 0x44, 0x0b]));
    let found = [0, 3, 4, 7, 8, 11, 12, 63].map(|at| tables.frame(CODE + at));
    let (small, large) = ((STACK, 8), (STACK, 16));
    let expected = [small, small, large, large, (6, 32), (6, 32), large, large].map(Some);
    assert_eq!(found, expected);
    assert_eq!([CODE - 1, CODE + 64, 0, PAGE - 1].map(|at| tables.frame(at)), [None; 4]);
}

#[test]
fn what_is_not_understood_is_not_guessed() {
    let aligned_personality = [&[19, 0x50, 0, 0, 0][..], &[0; 8], &[0x1b, 0x1b, 0, 0, 0, 0, 0]].concat();
    let cases: [(&[u8], &[u8]); 7] = [
        // A pointer to the pointer; one relative to `.text`; none.
        (b"zR", &[1, 0x9b]),
        (b"zR", &[1, 0x2b]),
        (b"zR", &[1, 0xff]),
        (b"zPRL", &aligned_personality),
        (b"zX", &[0]),
        (b"eh", &[0; 8]),
        (b"zLLLLLLLLLLLLR", &[13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x1b]),
    ];
    for (augmentation, data) in cases {
        assert_eq!(MappedTables::of(&image(augmentation, data, &[])).frame(CODE), None, "{augmentation:?} {data:x?}");
    }
    // set_loc; restore without remember; an offset where an expression stands; an expression that is longer than the
    // entry.
    for code in [&[0x01, 0, 0, 0, 0][..], &[0x0b], &[0x0f, 0, 0x0e, 8], &[0x0f, 0x7f, 0x77, 8], &[0x3f], &[0x0a; 9]] {
        assert_eq!(MappedTables::of(&usual(code)).frame(CODE), None, "{code:x?}");
    }
}

#[test]
fn callers_are_further_up_the_stack() {
    let stack = [11usize, 12, 13, 14];
    let at = |index: usize| &raw const stack[index] as usize;
    let mut registers = Registers { values: [None; COUNT], at: 0 };
    registers.values[STACK] = Some(at(1));
    // The argument of `def_cfa_offset`, and the address at which the caller goes on.
    for (distance, expected) in [(8, Some(12)), (16, Some(13)), (0, None)] {
        let tables = MappedTables::of(&usual(&[0x0e, distance]));
        let memory = Memory::new();
        // SAFETY: the tables are there.
        let table = unsafe { Table::of(&tables.object(), &memory) }.unwrap();
        let found = caller(&registers, tables.memory as usize + CODE, false, &table, &mut Context::new_in());
        assert_eq!(found.as_ref().map(|(caller, _)| caller.at), expected, "{distance}");
        let above = found.and_then(|(caller, _)| caller.values[STACK]);
        assert_eq!(above, expected.map(|_| at(1) + usize::from(distance)));
    }
}

#[test]
fn long_tables_are_given_up() {
    let long = 8 << 20;
    for filling in [0u8, 0x0a, 0x40, 0x80, 0xff] {
        assert_eq!(MappedTables::of(&usual(&vec![filling; long])).frame(CODE), None, "{filling:x}");
    }
}

#[test]
fn a_file_that_was_made_shorter_has_no_tables() {
    let mut bytes = usual(&[]);
    bytes.resize(4 * PAGE, 0);
    // SAFETY: a file in memory, mapped in place of the image, and truncated while it is mapped.
    unsafe {
        let file = libc::memfd_create(c"windlass".as_ptr(), libc::MFD_CLOEXEC);
        assert_eq!(libc::write(file, bytes.as_ptr().cast(), bytes.len()), bytes.len() as isize);
        let tables = MappedTables::of(&bytes);
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
        assert_eq!(
            libc::mmap(tables.memory.cast(), tables.size, libc::PROT_READ, flags, file, 0),
            tables.memory.cast()
        );
        assert_eq!(tables.frame(CODE), Some((STACK, 8)));
        assert_eq!(libc::ftruncate(file, 0), 0);
        assert_eq!(tables.frame(CODE), None);
        libc::close(file);
    }
}

#[test]
fn what_can_not_be_read_is_not_there() {
    let bytes = usual(&[0x44, 0x0e, 16]);
    let tables = MappedTables::of(&bytes);
    // SAFETY: makes pages inaccessible that the test has mapped.
    assert_eq!(unsafe { libc::mprotect(tables.memory.cast(), PAGE, libc::PROT_NONE) }, 0);
    assert_eq!(tables.frame(CODE), None);
    // The end of the image can't be read: entries that extend beyond it.
    for length in 0x100..bytes.len() {
        let mut bytes = bytes[..length].to_vec();
        let count = bytes.len();
        bytes.splice(0..0, vec![0; count.next_multiple_of(PAGE) - count]);
        let tables = MappedTables::of(&bytes);
        let start = tables.memory as usize + bytes.len() - count;
        let object = Object { base: start, path: c"".as_ptr(), dynamic: 0, start, end: start + END };
        let memory = Memory::new();
        // SAFETY: the tables are there.
        if let Some(table) = unsafe { Table::of(&object, &memory) } {
            let is_found = table.find(start + CODE + 4, &mut Context::new_in()).is_some();
            assert!(!is_found, "{length}");
        }
    }
}

/// Pseudo-random numbers, the same in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

#[test]
fn tables_of_chance_do_no_harm() {
    let mut chance = Chance(7);
    let values = std::array::from_fn(|at| Some(at << 40 | 8));
    let registers = Registers { values, at: CODE };
    for round in 0..20_000 {
        let code: Vec<u8> = (0..chance.below(40)).map(|_| chance.below(256) as u8).collect();
        let mut bytes = usual(&code);
        for _ in 0..chance.below(4) {
            // In the headers of the object, of the table and of the entries.
            let at = [32 + chance.below(72), 0x100 + chance.below(bytes.len() - 0x100)][chance.below(2)];
            bytes[at] = [chance.below(256) as u8, 0, 0x7f, 0x80, 0xff][chance.below(5)];
        }
        let tables = MappedTables::of(&bytes);
        tables.row(CODE + chance.below(64), |table, row| {
            let run = |code| {
                table.code(code).and_then(|code| expression::value(code, Some(round), &registers, table.memory));
            };
            if let CfaRule::Expression(code) = row.cfa() {
                run(code);
            }
            for (_, rule) in row.registers() {
                if let RegisterRule::Expression(code) | RegisterRule::ValExpression(code) = rule {
                    run(code);
                }
            }
        });
    }
}
