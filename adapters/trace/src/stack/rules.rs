//! Call frame instructions (DWARF 4, 6.4.2): where a frame's caller has its registers.

use super::registers::COUNT;
use super::tables::{Entry, Reader};

/// Where the value of a register is.
#[derive(Clone, Copy)]
pub enum Rule<'a> {
    /// In the register still.
    Same,
    /// Nowhere.
    Undefined,
    /// In memory, relative to the frame's address.
    At(i64),
    /// It is an address relative to the frame's.
    Is(i64),
    /// In another register.
    In(usize),
    /// In memory, where an expression says.
    AtExpression(Reader<'a>),
    /// The value of an expression.
    IsExpression(Reader<'a>),
}

/// How the frame's address (CFA) is computed.
#[derive(Clone, Copy)]
pub enum Frame<'a> {
    /// From a register.
    Register(usize, i64),
    /// By an expression.
    Expression(Reader<'a>),
    /// Not said.
    Unknown,
}

/// What holds at one address.
#[derive(Clone)]
pub struct Rules<'a> {
    /// The frame's address.
    pub frame: Frame<'a>,
    /// The registers of the caller.
    pub registers: [Rule<'a>; COUNT],
}

const MOST_REMEMBERED: usize = 8;

/// The rules of an entry for an address. In allocated memory: what calls here may have little room left on its stack.
#[inline(never)]
pub fn at<'a>(entry: &Entry<'a>, address: usize) -> Option<Box<Rules<'a>>> {
    let mut rules = Box::new(Rules { frame: Frame::Unknown, registers: [Rule::Same; COUNT] });
    let initial = rules.clone();
    run(entry, entry.initial, &mut rules, &initial, usize::MAX)?;
    let initial = rules.clone();
    run(entry, entry.own, &mut rules, &initial, address)?;
    Some(rules)
}

#[inline(never)]
fn run<'a>(
    entry: &Entry<'a>,
    mut code: Reader<'a>,
    rules: &mut Box<Rules<'a>>,
    initial: &Rules<'a>,
    until: usize,
) -> Option<()> {
    let mut remembered = Vec::new();
    let mut location = entry.begin;
    let offset = |value: u64| (value as i64).wrapping_mul(entry.data_factor);
    while location <= until && !code.is_at_end() {
        let byte = code.byte()?;
        let low = usize::from(byte & 0x3f);
        let mut advance = |by: u64| location = location.saturating_add(by.saturating_mul(entry.code_factor) as usize);
        match byte {
            0x40..=0x7f => advance(low as u64),
            0x80..=0xbf => set(rules, low, Rule::At(offset(code.leb()?))),
            0xc0..=0xff => set(rules, low, restored(initial, low)),
            0x00 => {}
            0x02 => advance(code.number(1)?),
            0x03 => advance(code.number(2)?),
            0x04 => advance(code.number(4)?),
            0x05 => set(rules, register(&mut code)?, Rule::At(offset(code.leb()?))),
            0x06 => {
                let register = register(&mut code)?;
                set(rules, register, restored(initial, register));
            }
            0x07 => set(rules, register(&mut code)?, Rule::Undefined),
            0x08 => set(rules, register(&mut code)?, Rule::Same),
            0x09 => set(rules, register(&mut code)?, Rule::In(register(&mut code)?)),
            0x0a if remembered.len() < MOST_REMEMBERED => remembered.push(rules.clone()),
            0x0b => *rules = remembered.pop()?,
            0x0c => rules.frame = Frame::Register(register(&mut code)?, code.leb()? as i64),
            0x0d => match rules.frame {
                Frame::Register(_, distance) => rules.frame = Frame::Register(register(&mut code)?, distance),
                _ => return None,
            },
            0x0e => match rules.frame {
                Frame::Register(from, _) => rules.frame = Frame::Register(from, code.leb()? as i64),
                _ => return None,
            },
            0x0f => rules.frame = Frame::Expression(block(&mut code)?),
            0x10 => set(rules, register(&mut code)?, Rule::AtExpression(block(&mut code)?)),
            0x11 => {
                let register = register(&mut code)?;
                set(rules, register, Rule::At(code.signed_leb()?.wrapping_mul(entry.data_factor)));
            }
            0x12 => {
                let register = register(&mut code)?;
                rules.frame = Frame::Register(register, code.signed_leb()?.wrapping_mul(entry.data_factor));
            }
            0x13 => match rules.frame {
                Frame::Register(from, _) => {
                    rules.frame = Frame::Register(from, code.signed_leb()?.wrapping_mul(entry.data_factor));
                }
                _ => return None,
            },
            0x14 => set(rules, register(&mut code)?, Rule::Is(offset(code.leb()?))),
            0x15 => {
                let register = register(&mut code)?;
                set(rules, register, Rule::Is(code.signed_leb()?.wrapping_mul(entry.data_factor)));
            }
            0x16 => set(rules, register(&mut code)?, Rule::IsExpression(block(&mut code)?)),
            // AArch64: whether the return address is signed. Its signature is taken off in any case.
            0x2d => {}
            // The size of the arguments that were pushed.
            0x2e => drop(code.leb()?),
            _ => return None,
        }
    }
    Some(())
}

fn register(code: &mut Reader) -> Option<usize> {
    usize::try_from(code.leb()?).ok()
}

fn block<'a>(code: &mut Reader<'a>) -> Option<Reader<'a>> {
    let length = usize::try_from(code.leb()?).ok()?;
    code.part(length)
}

fn restored<'a>(initial: &Rules<'a>, register: usize) -> Rule<'a> {
    initial.registers.get(register).copied().unwrap_or(Rule::Same)
}

/// Others than those that are kept here (vector registers) lead nowhere.
fn set<'a>(rules: &mut Rules<'a>, register: usize, rule: Rule<'a>) {
    if let Some(place) = rules.registers.get_mut(register) {
        *place = rule;
    }
}
