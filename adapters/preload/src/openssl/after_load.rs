//! After a load of the machine's own trust: the certificates of `windlass run --add-ca` (see `crate::add_ca`).

use std::ffi::{CStr, CString, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use crate::add_ca;
use crate::hook::{Caller, KeptErrno};
use crate::labels::Event;
use crate::openssl::api::{Required, X509_STORE};
use crate::openssl::errors::Marked;
use crate::openssl::libcrypto::{Libcrypto, Served, original};
use crate::openssl::serving::{Within, load};
use crate::openssl::store::StoreState;
use crate::process;

/// A store that something was loaded into.
pub struct Target<'a> {
    /// The store itself.
    pub store: *mut X509_STORE,
    /// Its state, if the store is watched.
    pub state: Option<&'a StoreState>,
    /// The caller of the load.
    pub caller: Caller,
    /// The library context and property query for the certificates.
    pub within: Within,
}

impl Target<'_> {
    /// Call this after the program has loaded these sources; a null pointer means none.
    pub fn after_sources(&self, sources: [*const c_char; 2], result: i32) {
        if result <= 0 {
            return;
        }
        let Some(file) = add_ca::file() else { return };
        let _errno = KeptErrno::new();
        let is_default = |source: &*const c_char| {
            // SAFETY: the program passed NUL-terminated paths, or null.
            !source.is_null() && is_default_list(unsafe { CStr::from_ptr(*source) })
        };
        if sources.iter().any(is_default) {
            self.load(file);
        }
    }

    /// Call this after the program has loaded libcrypto's default paths, or one half of them.
    pub fn after_default_paths(&self, loaded: Defaults, result: i32) {
        if result != 1 {
            return;
        }
        let Some(added) = add_ca::file() else { return };
        let _errno = KeptErrno::new();
        let served = self.library().and_then(|library| library.served());
        let (file, directory) = (Half::file(served), Half::directory(served));
        let wanted = match loaded {
            Defaults::File => !file.holds_them() && file.is_machines(),
            Defaults::Directory => directory.is_machines(),
            // If a variable redirects one of them, the other is still the machine's, if it exists. Only when nothing of
            // the machine's is left has somebody chosen other trust.
            Defaults::Both => {
                !file.holds_them()
                    && (file.variable.is_none() && directory.variable.is_none()
                        || file.is_in_use()
                        || directory.is_in_use())
            }
        };
        if wanted {
            self.load(added);
        }
    }

    fn load(&self, file: &CStr) {
        let library = self.library();
        let _marked = library.and_then(|library| library.served()).map(Marked::new);
        let file = file.as_ptr();
        if load(self.state, self.caller, file, self.within, Event::AddedCa).is_some() {
            return;
        }
        process::count(Event::AddedCa, 1);
        let (store, caller) = (self.store, self.caller);
        if self.within.is_default() {
            original!(caller, X509_STORE_load_locations(store, file, ptr::null()), or 0);
        } else {
            let Within { context, properties } = self.within;
            original!(caller, X509_STORE_load_file_ex(store, file, context, properties), or 0);
        }
    }

    fn library(&self) -> Option<&'static Libcrypto> {
        self.state.map(|state| state.library).or_else(|| Libcrypto::of_caller(self.caller))
    }
}

/// The part of libcrypto's default paths that was loaded.
#[derive(Clone, Copy)]
pub enum Defaults {
    /// `X509_STORE_set_default_paths`.
    Both,
    /// `X509_LOOKUP_load_file` with `X509_FILETYPE_DEFAULT`.
    File,
    /// `X509_LOOKUP_add_dir` with `X509_FILETYPE_DEFAULT`.
    Directory,
}

/// One of the two default paths, as it is now.
struct Half {
    /// The value of its variable, which can be empty.
    variable: Option<&'static CStr>,
    /// The compiled-in path, if known.
    compiled: Option<&'static CStr>,
}

impl Half {
    fn file(served: Option<&Served>) -> Half {
        Half::of(served, c"SSL_CERT_FILE", |api| (api.X509_get_default_cert_file_env, api.X509_get_default_cert_file))
    }

    fn directory(served: Option<&Served>) -> Half {
        Half::of(served, c"SSL_CERT_DIR", |api| (api.X509_get_default_cert_dir_env, api.X509_get_default_cert_dir))
    }

    /// `usual` is the variable's name, for a libcrypto that we know nothing of.
    fn of(served: Option<&Served>, usual: &CStr, functions: impl Fn(&Required) -> (Getter, Getter)) -> Half {
        let strings = served.map(|served| {
            let (variable, compiled) = functions(&served.api);
            (served.default_string(variable), served.default_string(compiled))
        });
        let (name, compiled) = strings.unwrap_or((Some(usual), None));
        Half { variable: name.and_then(process::environment_pointer), compiled }
    }

    fn holds_them(&self) -> bool {
        self.variable.is_some_and(add_ca::holds_them)
    }

    /// Whether no variable redirects it, so that it is still the machine's.
    fn is_machines(&self) -> bool {
        self.variable.is_none_or(is_default_list)
    }

    /// Whether it brings the machine's trust. A compiled-in path can lead nowhere.
    fn is_in_use(&self) -> bool {
        self.is_machines() && (self.variable.is_some() || self.compiled.is_none_or(has_something))
    }
}

/// `X509_get_default_cert_file` and similar functions.
type Getter = unsafe extern "C-unwind" fn() -> *const c_char;

fn has_something(list: &CStr) -> bool {
    list.to_bytes().split(|byte| *byte == b':').any(|path| {
        let has_entry =
            || Path::new(OsStr::from_bytes(path)).read_dir().is_ok_and(|mut entries| entries.next().is_some());
        let status = CString::new(path).ok().and_then(|path| add_ca::status(&path, libc::O_PATH));
        status.is_some_and(|status| match status.st_mode & libc::S_IFMT {
            libc::S_IFDIR => has_entry(),
            _ => status.st_size > 0,
        })
    })
}

/// Directories come as lists (by_dir.c, `add_cert_dir`), files one at a time.
fn is_default_list(list: &CStr) -> bool {
    add_ca::is_default(list)
        || list
            .to_bytes()
            .split(|byte| *byte == b':')
            .any(|path| CString::new(path).is_ok_and(|path| add_ca::is_default(&path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compiled_in_counts_only_if_there_is_something() {
        let half = |variable, compiled| Half { variable, compiled };
        let exists = Some(c"/proc/none:/etc");
        assert!(half(None, exists).is_in_use() && half(None, None).is_in_use());
        assert!(!half(None, Some(c"/proc/none")).is_in_use() && half(None, Some(c"/proc/none")).is_machines());
        for other in [c"", c"/proc/none"] {
            assert!(!half(Some(other), exists).is_in_use() && !half(Some(other), exists).is_machines());
        }
        assert!(half(Some(c"/proc/none:/etc/ssl/certs"), None).is_in_use());
    }
}
