//! `X509_LOOKUP_ctrl`: called by the macros `X509_LOOKUP_load_file`, `X509_LOOKUP_add_dir` and `X509_LOOKUP_add_store`.

use std::ffi::{CStr, c_char, c_int, c_long};
use std::ptr;

use crate::hook::{Caller, guarded};
use crate::labels::{Bypass, Served as Entry};
use crate::openssl::after_load::{Defaults, Target};
use crate::openssl::api::{
    OSSL_LIB_CTX, X509_FILETYPE_DEFAULT, X509_FILETYPE_PEM, X509_L_ADD_DIR, X509_L_FILE_LOAD, X509_LOOKUP,
};
use crate::openssl::default_store::prepare_for_uri;
use crate::openssl::libcrypto::{original, transparent};
use crate::openssl::serving::{Within, load, serve_or_prepare};
use crate::openssl::store::{LookupKind, StoreState, tracked_lookup};
use crate::openssl::{capath, follow};

/// `X509_LOOKUP_ctrl`.
pub extern "C-unwind" fn plain(
    lookup: *mut X509_LOOKUP,
    command: c_int,
    argument: *const c_char,
    number: c_long,
    ret: *mut *mut c_char,
    caller: Caller,
) -> c_int {
    let lookup = follow::reached_lookup(lookup, caller);
    let call = Call { lookup, command, argument, number, within: Within::DEFAULT, caller };
    call.run(
        || original!(caller, X509_LOOKUP_ctrl(lookup, command, argument, number, ret), or - 1),
        || transparent!(caller, X509_LOOKUP_ctrl(lookup, command, argument, number, ret), or - 1),
    )
}

/// `X509_LOOKUP_ctrl_ex`.
#[allow(clippy::too_many_arguments)] // as many as the foreign function has
pub extern "C-unwind" fn extended(
    lookup: *mut X509_LOOKUP,
    command: c_int,
    argument: *const c_char,
    number: c_long,
    ret: *mut *mut c_char,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
    caller: Caller,
) -> c_int {
    let lookup = follow::reached_lookup(lookup, caller);
    let call = Call { lookup, command, argument, number, within: Within { context, properties }, caller };
    let (l, c, a, n, r, x, p) = (lookup, command, argument, number, ret, context, properties);
    call.run(
        || original!(caller, X509_LOOKUP_ctrl_ex(l, c, a, n, r, x, p), or - 1),
        || transparent!(caller, X509_LOOKUP_ctrl_ex(l, c, a, n, r, x, p), or - 1),
    )
}

/// The arguments of both functions.
struct Call {
    lookup: *mut X509_LOOKUP,
    command: c_int,
    argument: *const c_char,
    number: c_long,
    within: Within,
    caller: Caller,
}

impl Call {
    fn run(&self, original: impl FnOnce() -> c_int, transparent: impl FnOnce() -> c_int) -> c_int {
        let Some((state, kind)) = tracked_lookup(self.lookup) else {
            // A method of the program's own may do anything with the store, and its calls must be seen.
            return transparent();
        };
        let result = self.serve(state, kind).unwrap_or_else(|| {
            let result = original();
            self.track(state, kind, result);
            result
        });
        self.add(state, kind, result);
        result
    }

    fn serve(&self, state: &StoreState, kind: LookupKind) -> Option<c_int> {
        match (kind, self.command) {
            (LookupKind::File, X509_L_FILE_LOAD) => self.load_file(state),
            (LookupKind::Store, _) => {
                prepare_for_uri(Some(state), self.command, self.caller);
                None
            }
            _ => None,
        }
    }

    /// Loads a file, as by_file_ctrl_ex in by_file.c does.
    fn load_file(&self, state: &StoreState) -> Option<c_int> {
        let entry = Entry::LookupCtrl;
        let file = if self.number == X509_FILETYPE_DEFAULT.into() {
            capath::default_file(state.served()).map_or(ptr::null(), CStr::as_ptr)
        } else if self.number == X509_FILETYPE_PEM.into() {
            self.argument
        } else {
            return serve_or_prepare(Some(state), self.caller, entry, |_| Err(Bypass::FileType));
        };
        load(Some(state), self.caller, file, self.within, entry).map(|_| 1)
    }

    /// Adds the certificates that accompany the machine's own trust.
    fn add(&self, state: &StoreState, kind: LookupKind, result: c_int) {
        let half = match (kind, self.command) {
            (LookupKind::File, X509_L_FILE_LOAD) => Defaults::File,
            (LookupKind::HashedDirectory, X509_L_ADD_DIR) => Defaults::Directory,
            _ => return,
        };
        let target = Target { store: state.store, state: Some(state), caller: self.caller, within: self.within };
        if self.number == X509_FILETYPE_DEFAULT.into() {
            target.after_default_paths(half, result);
        } else {
            target.after_sources([self.argument, ptr::null()], result);
        }
    }

    /// Tracks a directory, as dir_ctrl in by_dir.c adds it.
    fn track(&self, state: &StoreState, kind: LookupKind, result: c_int) {
        if kind != LookupKind::HashedDirectory || self.command != X509_L_ADD_DIR || result != 1 {
            return;
        }
        guarded(|| {
            if self.number == X509_FILETYPE_DEFAULT.into() {
                capath::track_default(state);
            } else if self.argument.is_null() {
                return None;
            } else {
                // SAFETY: the program passed a NUL-terminated list of directories.
                capath::track(state, unsafe { CStr::from_ptr(self.argument) }, self.number == X509_FILETYPE_PEM.into());
            }
            Some(())
        });
    }
}
