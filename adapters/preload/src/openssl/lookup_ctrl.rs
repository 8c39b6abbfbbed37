//! `X509_LOOKUP_ctrl`: what the macros `X509_LOOKUP_load_file`, `X509_LOOKUP_add_dir` and `X509_LOOKUP_add_store` call.

use std::ffi::{CStr, c_char, c_int, c_long};
use std::ptr;

use crate::hook::{Caller, guarded};
use crate::labels::{Bypass, Served as Entry};
use crate::openssl::added::{Defaults, Target};
use crate::openssl::api::{
    OSSL_LIB_CTX, X509_FILETYPE_DEFAULT, X509_FILETYPE_PEM, X509_L_ADD_DIR, X509_L_FILE_LOAD, X509_LOOKUP,
};
use crate::openssl::library::{original, transparent};
use crate::openssl::load_file::{load, serve_or_prepare};
use crate::openssl::load_path::prepare_for_uri;
use crate::openssl::store::{LookupKind, StoreState, tracked_lookup};
use crate::openssl::{capath, default_paths};

/// `X509_LOOKUP_ctrl`.
pub extern "C-unwind" fn plain(
    lookup: *mut X509_LOOKUP,
    command: c_int,
    argument: *const c_char,
    number: c_long,
    ret: *mut *mut c_char,
    caller: Caller,
) -> c_int {
    let tracked = tracked_lookup(lookup);
    let call = Call { command, argument, number, context: ptr::null_mut(), properties: ptr::null() };
    let result = call.serve(tracked, caller).unwrap_or_else(|| {
        let library = tracked.map(|(state, _)| state.library);
        // A method of the program's own does as it likes with the store, and is to be seen.
        if tracked.is_none() {
            return transparent!(library, caller, X509_LOOKUP_ctrl(lookup, command, argument, number, ret), or - 1);
        }
        let result = original!(library, caller, X509_LOOKUP_ctrl(lookup, command, argument, number, ret), or - 1);
        call.track(tracked, result);
        result
    });
    call.add(tracked, caller, result);
    result
}

/// `X509_LOOKUP_ctrl_ex`.
#[allow(clippy::too_many_arguments)] // the foreign function has seven
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
    let tracked = tracked_lookup(lookup);
    let call = Call { command, argument, number, context, properties };
    let result = call.serve(tracked, caller).unwrap_or_else(|| {
        let library = tracked.map(|(state, _)| state.library);
        if tracked.is_none() {
            return transparent!(
                library,
                caller,
                X509_LOOKUP_ctrl_ex(lookup, command, argument, number, ret, context, properties),
                or - 1
            );
        }
        let result = original!(
            library,
            caller,
            X509_LOOKUP_ctrl_ex(lookup, command, argument, number, ret, context, properties),
            or - 1
        );
        call.track(tracked, result);
        result
    });
    call.add(tracked, caller, result);
    result
}

struct Call {
    command: c_int,
    argument: *const c_char,
    number: c_long,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
}

impl Call {
    fn serve(&self, tracked: Option<(&StoreState, LookupKind)>, caller: Caller) -> Option<c_int> {
        let (state, kind) = tracked?;
        match (kind, self.command) {
            (LookupKind::File, X509_L_FILE_LOAD) => self.load_file(state, caller),
            (LookupKind::Store, _) => {
                prepare_for_uri(Some(state), self.command, caller);
                None
            }
            _ => None,
        }
    }

    /// As by_file_ctrl_ex in by_file.c.
    fn load_file(&self, state: &StoreState, caller: Caller) -> Option<c_int> {
        let entry = Entry::LookupCtrl;
        let file = if self.number == X509_FILETYPE_DEFAULT.into() {
            let default = state.served().and_then(|served| default_paths::default_file(served).ok());
            default.map_or(ptr::null(), CStr::as_ptr)
        } else if self.number == X509_FILETYPE_PEM.into() {
            self.argument
        } else {
            return serve_or_prepare(Some(state), caller, entry, |_| Err(Bypass::FileType));
        };
        load(Some(state), caller, file, self.context, self.properties, entry).map(|_| 1)
    }

    /// What goes with the machine's own trust.
    fn add(&self, tracked: Option<(&StoreState, LookupKind)>, caller: Caller, result: c_int) {
        let Some((state, kind)) = tracked else { return };
        let half = match (kind, self.command) {
            (LookupKind::File, X509_L_FILE_LOAD) => Defaults::File,
            (LookupKind::HashedDirectory, X509_L_ADD_DIR) => Defaults::Directory,
            _ => return,
        };
        let target = Target {
            store: state.store,
            state: Some(state),
            caller,
            context: self.context,
            properties: self.properties,
        };
        if self.number == X509_FILETYPE_DEFAULT.into() {
            target.after_default_paths(half, result);
        } else {
            target.after_sources([self.argument, ptr::null()], result);
        }
    }

    /// As dir_ctrl in by_dir.c.
    fn track(&self, tracked: Option<(&StoreState, LookupKind)>, result: c_int) {
        let Some((state, LookupKind::HashedDirectory)) = tracked else { return };
        if self.command != X509_L_ADD_DIR || result != 1 {
            return;
        }
        guarded(|| {
            if self.number == X509_FILETYPE_DEFAULT.into() {
                capath::track_default(state, state.served()?);
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
