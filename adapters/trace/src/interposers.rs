//! Functions that stand between us and a TLS library: those of another preloaded library, or of a wrapper that the program was linked
//! with in front of it. A call goes to them, as without us.

use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use windlass_interpose::definitions::Name;
use windlass_interpose::object;

use crate::registry::is_named_as_sibling;
use crate::{gnutls, loaded, openssl};

/// Functions that only a TLS library itself defines.
pub const ANCHORS: [Name<'static>; 3] =
    [Name::new(c"X509_STORE_CTX_new"), Name::new(c"SSL_CTX_new"), Name::new(c"gnutls_check_version")];

const ADD_CERT: Name = Name::new(c"X509_STORE_add_cert");

type Found = Vec<(Name<'static>, usize)>;

static FOUND: AtomicPtr<Found> = AtomicPtr::new(ptr::null_mut());

/// Something before us takes the calls by which a libcrypto adds certificates (the preload library, which may have none to add).
static HIDES_ADDITIONS: AtomicBool = AtomicBool::new(false);

/// Looks for them among the objects that the program starts with. What is loaded later comes after those in the global scope.
pub fn look() {
    // Found out before any lock is held.
    object::is_ours(0);
    let names: Vec<Name> = openssl::HOOKED.iter().chain(gnutls::HOOKED).copied().collect();
    let (mut defined, mut found, mut is_behind) = (vec![false; names.len()], Found::new(), false);
    loaded::each(&mut |info| {
        let address = start(info);
        if !is_behind {
            // The executable, and what was preloaded before us: that has been asked, and calls us in turn.
            is_behind = object::is_ours(address);
            let adds = !is_behind && loaded::definitions(info).is_some_and(|all| all.find(ADD_CERT).is_some());
            if adds {
                HIDES_ADDITIONS.store(true, Ordering::Relaxed);
            }
            return true;
        }
        let Some(definitions) = loaded::definitions(info).filter(|_| !is_sibling(info)) else { return true };
        let is_library = ANCHORS.iter().any(|anchor| definitions.find(*anchor).is_some());
        for (name, defined) in names.iter().zip(&mut defined).filter(|(_, defined)| !**defined) {
            let Some(address) = definitions.find(*name) else { continue };
            *defined = true;
            if !is_library {
                found.push((*name, address));
            }
        }
        true
    });
    if !found.is_empty() {
        FOUND.store(Box::into_raw(Box::new(found)), Ordering::Release);
    }
}

/// The function of this name to which the call goes on.
pub fn of(name: &CStr) -> Option<usize> {
    // SAFETY: only a pointer from Box::into_raw is stored, once.
    let found = unsafe { FOUND.load(Ordering::Acquire).as_ref() }?;
    found.iter().find(|(known, _)| known.text() == name).map(|(_, address)| *address)
}

fn is_sibling(info: &libc::dl_phdr_info) -> bool {
    // SAFETY: null, or the name of a loaded object.
    !info.dlpi_name.is_null() && is_named_as_sibling(unsafe { CStr::from_ptr(info.dlpi_name) })
}

/// Whether the certificates that a libcrypto adds to a store by itself can't be counted.
pub fn hide_additions() -> bool {
    HIDES_ADDITIONS.load(Ordering::Relaxed)
}

/// An address inside an object.
fn start(info: &libc::dl_phdr_info) -> usize {
    // SAFETY: the program headers of a loaded object.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let code = headers.iter().find(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0);
    code.map_or(0, |code| (info.dlpi_addr as usize).wrapping_add(code.p_vaddr as usize))
}
