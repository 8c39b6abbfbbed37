//! Which of an object's imported names matter: a name that does not costs only a few instructions.

use std::ffi::{CStr, c_char};

use crate::definitions::Name;
use crate::family::Hook;
use crate::sibling::HOOKS;

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// `dlsym`
    Dlsym,
    /// `dlvsym`
    Dlvsym,
    /// A hook: the numbers of its family and of itself.
    Hook(u8, u8),
    /// A function whose users only have to be noted: its number.
    Noticed(u8),
    /// A function that gives away what `dlsym` finds.
    Finder,
}

/// Functions of other libraries that find any function by its name. ICU's has the version at its end.
const FINDERS: [&CStr; 4] = [
    c"DSO_bind_func",         // libcrypto
    c"DSO_global_lookup",     // libcrypto
    c"rb_ext_resolve_symbol", // libruby
    c"xmlModuleSymbol",       // libxml2
];
const FINDER_OF_ICU: &CStr = c"uprv_dlsym_func";

/// The names that matter.
pub struct Names {
    /// The hooks of each family.
    pub(crate) hooks: &'static [&'static [Hook]],
    pub(crate) noticed: &'static [Name<'static>],
    /// The first four bytes of each name, as a set with false positives.
    beginnings: [u64; WORDS],
    /// The first eight bytes of each name, in the same way.
    longer: [u64; WORDS],
    /// The kind of each name, at the place given by its hash, or after it.
    wanted: [Option<Wanted>; PLACES],
}

const WORDS: usize = 64;
/// Several times the number of names.
const PLACES: usize = 1024;
const DLSYM: &CStr = c"dlsym";
const DLVSYM: &CStr = c"dlvsym";

impl Names {
    /// The hooked functions of some families, and names that are only noticed. Each has eight bytes or more.
    pub const fn new(hooks: &'static [&'static [Hook]], noticed: &'static [Name<'static>]) -> Names {
        assert!(noticed.len() <= 256, "they are counted in a byte");
        let mut names = Names { hooks, noticed, beginnings: [0; WORDS], longer: [0; WORDS], wanted: [None; PLACES] };
        names = names.begin(u32::from_le_bytes(*b"dlsy")).begin(u32::from_le_bytes(*b"dlvs"));
        let mut family = 0;
        while family < hooks.len() {
            assert!(hooks[family].len() <= HOOKS, "own calls are noted in 128 bits");
            let mut at = 0;
            while at < hooks[family].len() {
                names = names.with(&hooks[family][at].name, Wanted::Hook(family as u8, at as u8));
                at += 1;
            }
            family += 1;
        }
        let mut at = 0;
        while at < noticed.len() {
            names = names.with(&noticed[at], Wanted::Noticed(at as u8));
            at += 1;
        }
        names = names.begin_longer(FINDER_OF_ICU.to_bytes());
        let mut at = 0;
        while at < FINDERS.len() {
            names = names.begin_longer(FINDERS[at].to_bytes());
            at += 1;
        }
        names
    }

    const fn with(mut self, name: &Name, wanted: Wanted) -> Names {
        self = self.begin_longer(name.text().to_bytes());
        let mut place = name.hash() as usize % PLACES;
        while self.wanted[place].is_some() {
            place = (place + 1) % PLACES;
        }
        self.wanted[place] = Some(wanted);
        self
    }

    const fn begin_longer(mut self, bytes: &[u8]) -> Names {
        assert!(bytes.len() >= 8, "shorter names are not told apart by their beginning");
        let beginning =
            u64::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]]);
        self = self.begin(beginning as u32);
        let place = longer_place(beginning);
        self.longer[place / 64] |= 1 << (place % 64);
        self
    }

    const fn begin(mut self, beginning: u32) -> Names {
        let place = place(beginning);
        self.beginnings[place / 64] |= 1 << (place % 64);
        self
    }

    /// The kind of a name, if it matters.
    ///
    /// # Safety
    /// `left` bytes can be read from `name` on, and a NUL is among them.
    #[inline(always)]
    pub unsafe fn find(&self, name: usize, left: usize) -> Option<Wanted> {
        if left >= 4 {
            // SAFETY: as the caller states.
            let beginning = u32::from_le(unsafe { (name as *const u32).read_unaligned() });
            let place = place(beginning);
            if self.beginnings[place / 64] >> (place % 64) & 1 == 0 {
                return None;
            }
        }
        // SAFETY: as the caller states.
        unsafe { self.find_longer(name, left) }
    }

    /// As [`Names::find`], for a name whose first bytes could be those of one that matters. All of these have eight
    /// bytes or more, except `dlsym` and `dlvsym`.
    #[inline(never)]
    unsafe fn find_longer(&self, name: usize, left: usize) -> Option<Wanted> {
        if left >= 8 {
            // SAFETY: as the caller states.
            let beginning = u64::from_le(unsafe { (name as *const u64).read_unaligned() });
            let place = longer_place(beginning);
            let is_short = beginning & 0xffff == u64::from_le_bytes(*b"dl\0\0\0\0\0\0");
            if self.longer[place / 64] >> (place % 64) & 1 == 0 && !is_short {
                return None;
            }
        }
        // SAFETY: as the caller states.
        self.find_name(unsafe { CStr::from_ptr(name as *const c_char) })
    }

    /// As [`Names::find`], for any string.
    pub fn find_text(&self, name: &CStr) -> Option<Wanted> {
        // SAFETY: the string's own bytes, and its end.
        unsafe { self.find(name.as_ptr() as usize, name.to_bytes_with_nul().len()) }
    }

    #[inline(never)]
    fn find_name(&self, name: &CStr) -> Option<Wanted> {
        if name == DLSYM {
            return Some(Wanted::Dlsym);
        }
        if name == DLVSYM {
            return Some(Wanted::Dlvsym);
        }
        let name = Name::new(name);
        let mut place = name.hash() as usize % PLACES;
        while let Some(wanted) = self.wanted[place] {
            let known = match wanted {
                Wanted::Hook(family, hook) => self.hooks[usize::from(family)][usize::from(hook)].name,
                Wanted::Noticed(number) => self.noticed[usize::from(number)],
                Wanted::Dlsym | Wanted::Dlvsym | Wanted::Finder => return None,
            };
            if known.hash() == name.hash() && known.text() == name.text() {
                return Some(wanted);
            }
            place = (place + 1) % PLACES;
        }
        let text = name.text();
        let is_finder = FINDERS.contains(&text) || text.to_bytes().starts_with(FINDER_OF_ICU.to_bytes());
        is_finder.then_some(Wanted::Finder)
    }
}

const BITS: u32 = (WORDS * 64).trailing_zeros();

/// The place of a four-byte beginning in its set.
const fn place(beginning: u32) -> usize {
    (beginning.wrapping_mul(0x9E37_79B9) >> (32 - BITS)) as usize
}

/// The place of an eight-byte beginning in its set.
const fn longer_place(beginning: u64) -> usize {
    (beginning.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_FAMILY: &[Hook] = &[
        Hook { name: Name::new(c"X509_STORE_new"), trampoline: |_| 0 },
        Hook { name: Name::new(c"X509_STORE_add_cert"), trampoline: |_| 0 },
    ];
    const NOTICED: &[Name] = &[Name::new(c"X509_set_pubkey")];
    static NAMES: Names = Names::new(&[OF_FAMILY], NOTICED);

    #[test]
    fn knows_its_names_and_no_others() {
        let find = |name: &CStr| NAMES.find_text(name);
        assert_eq!(find(c"X509_STORE_new"), Some(Wanted::Hook(0, 0)));
        assert_eq!(find(c"X509_STORE_add_cert"), Some(Wanted::Hook(0, 1)));
        assert_eq!(find(c"X509_set_pubkey"), Some(Wanted::Noticed(0)));
        assert_eq!((find(c"dlsym"), find(c"dlvsym")), (Some(Wanted::Dlsym), Some(Wanted::Dlvsym)));
        assert_eq!((find(c"DSO_bind_func"), find(c"uprv_dlsym_func_72")), (Some(Wanted::Finder), Some(Wanted::Finder)));
        for other in [c"X509_STORE_news", c"X509_STORE_", c"X509_STORE_free", c"X", c"", c"dlsyms", c"dlsy", c"malloc"]
        {
            assert_eq!(find(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_name_at_the_very_end_of_its_table_is_known() {
        let table = *b"dlsym\0";
        // SAFETY: all of the table.
        assert_eq!(unsafe { NAMES.find(table.as_ptr() as usize, table.len()) }, Some(Wanted::Dlsym));
    }
}
