//! The libcryptos of this process, kept apart.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::callers::Callers;
use crate::fork_lock::ForkLock;
use crate::hook::Caller;
use crate::image::Image;
use crate::object::{self, Object};
use crate::openssl::api::{OSSL_LIB_CTX, Originals, Required, X509_LOOKUP_METHOD};
use crate::openssl::{default_store, lookup, users};

/// `OPENSSL_VERSION_NUMBER` of 1.1.1, the oldest that is served.
const OLDEST: u64 = 0x1010_1000;
/// Versions from here on are not known yet.
const BEYOND: u64 = 0x5000_0000;
const VERSION_3_0: u64 = 0x3000_0000;
const VERSION_3_4: u64 = 0x3040_0000;

/// Who has called; flagged: it imports `X509_STORE_CTX_init`.
static CALLERS: Callers<Libcrypto> = Callers::new();

static LOADED: [AtomicPtr<Libcrypto>; 16] = [const { AtomicPtr::new(ptr::null_mut()) }; 16];

/// One loaded libcrypto.
pub struct Libcrypto {
    object: Object,
    /// Its own additions to stores pass our hooks (Debian). With `-Bsymbolic` they don't.
    pub shows_additions: bool,
    /// The same of the beginning of its own verifications (CMS, OCSP, …).
    pub shows_verifications: bool,
    /// The originals of what is hooked.
    pub originals: Originals,
    /// Everything that serving needs; `None`: every call is left to the originals.
    pub served: Option<Served>,
}

/// A libcrypto that can be served.
pub struct Served {
    /// Its functions.
    pub api: Required,
    version: u64,
    /// Our lookup method, asked before all others.
    pub first_method: *mut X509_LOOKUP_METHOD,
    /// Our stand-in for the default store lookup of 3.0 to 3.3.
    pub default_store_method: *mut X509_LOOKUP_METHOD,
}

// SAFETY: function addresses, and two method tables that are written once, before they are published, and only read later.
unsafe impl Send for Libcrypto {}
// SAFETY: as above.
unsafe impl Sync for Libcrypto {}

impl Libcrypto {
    /// The libcrypto that a call from this place means.
    pub fn of_caller(caller: Caller) -> Option<&'static Libcrypto> {
        let object = Object::of(caller.address())?;
        if let Some(known) = CALLERS.find(&object) {
            return Some(known.library);
        }
        let library = Libcrypto::defining(object::original(caller.address(), c"X509_STORE_new")? as usize)?;
        // SAFETY: the object's code is running, so it stays loaded.
        let image = unsafe { Image::of_object(&object) };
        let imports = |name: &CStr| {
            // SAFETY: the names belong to the object's string table.
            image.as_ref().is_some_and(|image| image.imports().any(|known| unsafe { CStr::from_ptr(known) } == name))
        };
        if CALLERS.remember(&object, library, imports(c"X509_STORE_CTX_init")) {
            users::meet(&object);
        }
        Some(library)
    }

    /// Whether the call comes from this libcrypto itself.
    pub fn contains(&self, caller: Caller) -> bool {
        self.object.contains(caller.address())
    }

    /// Whether a function is of this libcrypto itself.
    pub fn defines(&self, function: usize) -> bool {
        self.object.contains(function)
    }

    fn defining(address: usize) -> Option<&'static Libcrypto> {
        static REGISTERING: ForkLock = ForkLock::new();
        let known = || Libcrypto::loaded().find(|library| library.object.contains(address));
        if let Some(library) = known() {
            return Some(library);
        }
        // Made before the lock is taken: it needs the dynamic linker's lock, whose holder may be waiting for ours.
        let fresh = Libcrypto::open(Object::of(address)?)?;
        let _guard = REGISTERING.lock();
        if let Some(library) = known() {
            return Some(library);
        }
        let free = LOADED.iter().find(|entry| entry.load(Ordering::Acquire).is_null())?;
        let library = Box::into_raw(Box::new(fresh));
        free.store(library, Ordering::Release);
        // SAFETY: just published, never freed.
        Some(unsafe { &*library })
    }

    /// Those that were met so far.
    fn loaded() -> impl Iterator<Item = &'static Libcrypto> {
        // SAFETY: entries come from Box::into_raw and are never freed.
        LOADED.iter().filter_map(|entry| unsafe { entry.load(Ordering::Acquire).as_ref() })
    }

    /// The function of the only libcrypto that has it, for callers that are not linked against any: a program that found its
    /// functions by `dlsym`, some of which end in a jump to a hooked one, so that the program itself seems to call.
    fn only<F>(pick: &impl Fn(&Originals) -> Option<F>) -> Option<F> {
        let only = || {
            let mut found = Libcrypto::loaded().filter_map(|library| pick(&library.originals));
            found.next().filter(|_| found.next().is_none())
        };
        only().or_else(|| {
            Libcrypto::meet_all();
            only()
        })
    }

    /// Makes the acquaintance of all libcryptos that are loaded.
    fn meet_all() {
        for start in object::named("libcrypto") {
            let Some(object) = Object::of(start) else { continue };
            let Some(handle) = object::handle_of(&object) else { continue };
            let address = object::defined_by(&object, handle, c"X509_STORE_new");
            if !address.is_null() {
                Libcrypto::defining(address as usize);
            }
        }
    }

    fn open(object: Object) -> Option<Libcrypto> {
        let handle = object::handle_of(&object)?;
        let find = |name: &CStr| object::defined_by(&object, handle, name);
        // SAFETY: the names are OpenSSL's, and the declarations in `api` are those of its headers.
        let originals = unsafe { Originals::load(find) }?;
        // SAFETY: as above.
        let served = match unsafe { Required::load(find) } {
            Some(api) => Served::new(api, &originals)?,
            None => None,
        };
        // SAFETY: `handle` keeps the object loaded for good.
        let image = unsafe { Image::of_object(&object) };
        let shows = |name: &CStr| image.as_ref().is_some_and(|image| image.calls_through_plt(name));
        let shows_additions = shows(c"X509_STORE_add_cert") && shows(c"X509_STORE_add_crl");
        let shows_verifications = shows(c"X509_STORE_CTX_init");
        Some(Libcrypto { object, shows_additions, shows_verifications, originals, served })
    }
}

impl Served {
    /// None if memory is short, so that it is to be asked again; of a libcrypto that can't be served, nothing.
    fn new(api: Required, originals: &Originals) -> Option<Option<Served>> {
        // SAFETY: no arguments, no state.
        let version = unsafe { (api.OpenSSL_version_num)() };
        // LibreSSL and others give versions of their own or lack functions of `Required`.
        if !(OLDEST..BEYOND).contains(&version) || (0x2000_0000..VERSION_3_0).contains(&version) {
            return Some(None);
        }
        let complete = version < VERSION_3_0
            || (originals.OSSL_LIB_CTX_set0_default.is_some()
                && originals.OSSL_LIB_CTX_get0_global_default.is_some()
                && originals.X509_STORE_get1_all_certs.is_some()
                && originals.X509_LOOKUP_store.is_some()
                && originals.X509_LOOKUP_ctrl_ex.is_some());
        if !complete {
            return Some(None);
        }
        let first_method = lookup::method(&api)?;
        let default_store_method = default_store::method(&api)?;
        Some(Some(Served { api, version, first_method, default_store_method }))
    }

    /// 1.1.1: loading a file successfully clears the error queue; no library contexts; no store lookups.
    pub fn is_before_3_0(&self) -> bool {
        self.version < VERSION_3_0
    }

    /// 3.0 to 3.3: the default paths open the default directory as an OSSL_STORE, too. Later versions do nothing there.
    pub fn opens_default_store(&self) -> bool {
        (VERSION_3_0..VERSION_3_4).contains(&self.version)
    }

    /// Before 4.0 the objects of a store are one sorted stack.
    pub fn sorts_objects(&self) -> bool {
        self.version < 0x4000_0000
    }

    /// Whether the lookup of hashed directories is one that is known to `directory_search`.
    pub fn has_known_directories(&self) -> bool {
        self.version < 0x4010_0000
    }

    /// A path from one of the functions `X509_get_default_cert_*`.
    pub fn default_string(&self, function: unsafe extern "C-unwind" fn() -> *const c_char) -> Option<&'static CStr> {
        // SAFETY: these functions return constant strings.
        let string = unsafe { function() };
        // SAFETY: as above.
        (!string.is_null()).then(|| unsafe { CStr::from_ptr(string) })
    }
}

/// The function that a call would have reached without us: that of the store's libcrypto, else of the caller's.
pub fn forward<F: Copy>(
    library: Option<&'static Libcrypto>,
    caller: Caller,
    name: &CStr,
    pick: impl Fn(&Originals) -> Option<F>,
) -> Option<F> {
    let library = library.or_else(|| Libcrypto::of_caller(caller));
    if let Some(function) = library.and_then(|library| pick(&library.originals)) {
        return Some(function);
    }
    let Some(address) = object::original(caller.address(), name) else {
        return Libcrypto::only(&pick);
    };
    // SAFETY: F is the type that OpenSSL declares for `name`, an unsafe extern function pointer, as large as an address.
    Some(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) })
}

/// Calls an original. The calls that it makes through libcrypto's PLT are its own business: they pass our hooks by.
macro_rules! original {
    ($library:expr, $caller:expr, $name:ident($($arg:expr),* $(,)?), or $failure:expr) => {{
        let _inside = $crate::hook::inside();
        $crate::openssl::library::transparent!($library, $caller, $name($($arg),*), or $failure)
    }};
}

/// Calls an original for libcrypto itself, which is at work for the program and not for us: what it does through its PLT is to
/// be seen.
macro_rules! transparent {
    ($library:expr, $caller:expr, $name:ident($($arg:expr),* $(,)?), or $failure:expr) => {
        call_original!($crate::openssl::library::forward, $library, $caller, $name($($arg),*), or $failure)
    };
}
pub(crate) use original;
pub(crate) use transparent;

/// Marks this thread's use of the global default library context, and gives back another afterwards.
pub struct GlobalContext<'a> {
    originals: &'a Originals,
    previous: *mut OSSL_LIB_CTX,
}

impl Originals {
    /// Whether this thread's default library context is the global one (always so before 3.0).
    pub fn is_global_context(&self) -> bool {
        match (self.OSSL_LIB_CTX_set0_default, self.OSSL_LIB_CTX_get0_global_default) {
            // SAFETY: a null argument only asks for the present context.
            (Some(set), Some(global)) => unsafe { set(ptr::null_mut()) == global() },
            _ => true,
        }
    }

    /// Makes the global library context this thread's default until the value is dropped. Certificates are shared by all
    /// contexts, so they must not depend on which thread happens to parse them.
    pub fn global_context(&self) -> GlobalContext<'_> {
        let mut previous = ptr::null_mut();
        if let (false, Some(set), Some(global)) =
            (self.is_global_context(), self.OSSL_LIB_CTX_set0_default, self.OSSL_LIB_CTX_get0_global_default)
        {
            // SAFETY: the global context always exists.
            previous = unsafe { set(global()) };
        }
        GlobalContext { originals: self, previous }
    }
}

impl Drop for GlobalContext<'_> {
    fn drop(&mut self) {
        if let (false, Some(set)) = (self.previous.is_null(), self.originals.OSSL_LIB_CTX_set0_default) {
            // SAFETY: this thread's own context from before, which outlives the call that we are in.
            unsafe { set(self.previous) };
        }
    }
}

/// Whether the calling object, which has called before, imports `X509_STORE_CTX_init`: then it is taken for granted that
/// what it makes stores for, it verifies by that name. Others may have the function by `dlsym`, where no hook sees it. Asked
/// only where that matters (`verification::adds_as_one`).
pub fn begins_verifications(caller: Caller) -> bool {
    Object::of(caller.address()).and_then(|object| CALLERS.find(&object)).is_some_and(|known| known.flag)
}
