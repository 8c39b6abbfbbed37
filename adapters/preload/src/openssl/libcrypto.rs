//! The libcryptos of this process, each with its own state.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};

use windlass_interpose::definitions::Name;
use windlass_interpose::family::{COPIES, Copy, Family, Libraries, Origin};
use windlass_interpose::way_in;

use crate::hook::Caller;
use crate::labels::Bypass;
use crate::openssl::api::{OSSL_LIB_CTX, Originals, Required, X509_LOOKUP_METHOD};

/// `OPENSSL_VERSION_NUMBER` of 1.1.1, the oldest that is served.
const OLDEST: u64 = 0x1010_1000;
/// The first version number that is not known yet.
const BEYOND: u64 = 0x5000_0000;
const VERSION_3_0: u64 = 0x3000_0000;
const VERSION_3_4: u64 = 0x3040_0000;

/// The libcryptos.
pub static LIBCRYPTO: Family = Family::resident(&[Name::new(c"X509_STORE_new"), Name::new(c"ERR_clear_error")]);
/// The libssls.
pub static LIBSSL: Family = Family::resident(&[Name::new(c"SSL_CTX_new"), Name::new(c"SSL_get_error")]);

static KNOWN: Libraries<Libcrypto> = Libraries::new(&LIBCRYPTO);

/// One loaded libcrypto.
pub struct Libcrypto {
    copy: &'static Copy,
    /// Whether its own additions to stores pass our hooks (as on Debian). With `-Bsymbolic` they don't.
    pub shows_additions: bool,
    /// The same for the beginning of its own verifications (CMS, OCSP, …).
    pub shows_verifications: bool,
    /// The originals of the hooked functions.
    pub originals: Originals,
    /// One more than the number of changes at which `keys::is_ready` last held; 0: never.
    pub ready: AtomicU32,
    serving: Result<Served, Bypass>,
}

/// Creates our lookup methods for a libcrypto. None if memory is short.
pub struct Methods {
    /// See [`Served::first_method`].
    pub first: fn(&Required) -> Option<*mut X509_LOOKUP_METHOD>,
    /// See [`Served::default_store_method`].
    pub default_store: fn(&Required) -> Option<*mut X509_LOOKUP_METHOD>,
}

static METHODS: AtomicPtr<Methods> = AtomicPtr::new(ptr::null_mut());

/// Call this before anything is hooked. The functions of the methods use this module, so this module does not refer to
/// them.
pub fn serve_by(methods: &'static Methods) {
    METHODS.store(ptr::from_ref(methods).cast_mut(), Ordering::Release);
}

/// A libcrypto that can be served.
pub struct Served {
    /// Its functions.
    pub api: Required,
    version: u64,
    /// Our lookup method, asked before all others.
    pub first_method: *mut X509_LOOKUP_METHOD,
    /// Our replacement for the default store lookup of 3.0 to 3.3.
    pub default_store_method: *mut X509_LOOKUP_METHOD,
}

// SAFETY: function addresses, and two method tables that are written once, before they are published, and only read
// later.
unsafe impl Send for Libcrypto {}
// SAFETY: as above.
unsafe impl Sync for Libcrypto {}

impl Libcrypto {
    /// The libcrypto that a call is meant for.
    pub fn of_caller(caller: Caller) -> Option<&'static Libcrypto> {
        KNOWN.of(caller, Libcrypto::open)
    }

    /// The same, if it was already determined for an earlier call.
    pub fn known_of(caller: Caller) -> Option<&'static Libcrypto> {
        KNOWN.known_of(caller)
    }

    /// The libcrypto used by the libssl that a call is meant for.
    pub fn of_libssl(caller: Caller) -> Option<&'static Libcrypto> {
        let number = companion_of(caller.copy(), LIBSSL.copy(caller.copy()))?;
        Libcrypto::of_caller(Caller::new(number, Origin::Companion))
    }

    /// Everything needed for serving. None: every call is left to the originals.
    pub fn served(&self) -> Option<&Served> {
        self.serving.as_ref().ok()
    }

    /// The reason why nothing is served.
    pub fn unserved(&self) -> Option<Bypass> {
        self.serving.as_ref().err().copied()
    }

    /// The libcryptos that calls were meant for so far.
    pub fn known() -> impl Iterator<Item = &'static Libcrypto> {
        KNOWN.known()
    }

    /// See [`Copy::is_from_before`].
    pub fn is_from_before(&self) -> bool {
        self.copy.is_from_before()
    }

    /// Whether the call comes from this libcrypto itself.
    pub fn contains(&self, caller: Caller) -> bool {
        caller.is_own() && ptr::eq(self.copy, LIBCRYPTO.copy(caller.copy()))
    }

    /// Whether this libcrypto itself defines a function.
    pub fn defines(&self, function: usize) -> bool {
        self.copy.contains(function)
    }

    fn open(copy: &'static Copy) -> Option<Libcrypto> {
        let find = |name: &CStr| copy.find(Name::new(name)).map_or(ptr::null_mut(), |address| address as *mut c_void);
        // SAFETY: the names are OpenSSL's, and the declarations in `api` are those of its headers.
        let originals = unsafe { Originals::load(find) }?;
        let shows = |name: &'static CStr| LIBCRYPTO.sees_own_call(copy, Name::new(name));
        let shows_additions = shows(c"X509_STORE_add_cert") && shows(c"X509_STORE_add_crl");
        let shows_verifications = shows(c"X509_STORE_CTX_init");
        // A program, or a library of another kind, that has libcrypto linked in calls it unseen by any hook.
        let is_apart = copy.object().is_some_and(|object| !object.is_executable()) && find(c"SSL_CTX_new").is_null();
        // SAFETY: as above.
        let api = if is_apart && copy.pin() { unsafe { Required::load(find) } } else { None };
        let serving = match api {
            Some(api) if !allocates_itself(copy, &api) => Err(Bypass::Allocator),
            Some(api) => Served::new(api, &originals)?,
            None => Err(Bypass::UnsupportedLibrary),
        };
        Some(Libcrypto { copy, shows_additions, shows_verifications, originals, ready: AtomicU32::new(0), serving })
    }
}

/// Whether this libcrypto allocates with `malloc`. A program that gives it an allocator (`CRYPTO_set_mem_functions`)
/// may do so to keep stores in memory shared by its processes (kamailio, OpenSIPS): our state of a store exists in one
/// process only. Once libcrypto's own allocator has been called, as it has when a libcrypto is served, it can't be
/// replaced any more (mem.c).
fn allocates_itself(copy: &Copy, api: &Required) -> bool {
    let (mut allocate, mut reallocate, mut free) = (0, 0, 0);
    // SAFETY: room for three addresses.
    unsafe { (api.CRYPTO_get_mem_functions)(&mut allocate, &mut reallocate, &mut free) };
    copy.find(Name::new(c"CRYPTO_malloc")) == Some(allocate)
}

/// The libssl that calls a libcrypto, with its number.
pub fn libssl_of(caller: Caller) -> Option<(usize, &'static Copy)> {
    LIBSSL.copies().find(|(number, copy)| companion_of(*number, copy) == Some(caller.copy()))
}

/// The number of the libcrypto that a libssl calls. Finding it goes through all that the libssl imports.
fn companion_of(number: usize, libssl: &Copy) -> Option<usize> {
    const UNKNOWN: u8 = 0;
    /// For each libssl, one more than the number of its libcrypto; `UNKNOWN` before it is found.
    static FOUND: [AtomicU8; COPIES] = [const { AtomicU8::new(UNKNOWN) }; COPIES];
    let place = &FOUND[number % COPIES];
    if place.load(Ordering::Relaxed) == UNKNOWN {
        let found = way_in::companion_of(libssl, &LIBCRYPTO)?;
        place.store(found as u8 + 1, Ordering::Relaxed);
    }
    Some(usize::from(place.load(Ordering::Relaxed) - 1))
}

impl Served {
    /// None if memory is short: ask again later. For a libcrypto that can't be served, the reason.
    fn new(api: Required, originals: &Originals) -> Option<Result<Served, Bypass>> {
        // SAFETY: no arguments, no state.
        let version = unsafe { (api.OpenSSL_version_num)() };
        // LibreSSL and others use their own version numbers or lack functions of `Required`.
        if !(OLDEST..BEYOND).contains(&version) || (0x2000_0000..VERSION_3_0).contains(&version) {
            return Some(Err(Bypass::UnsupportedLibrary));
        }
        let complete = version < VERSION_3_0
            || (originals.OSSL_LIB_CTX_set0_default.is_some()
                && originals.OSSL_LIB_CTX_get0_global_default.is_some()
                && originals.X509_STORE_get1_all_certs.is_some()
                && originals.X509_LOOKUP_store.is_some()
                && originals.X509_LOOKUP_ctrl_ex.is_some());
        if !complete {
            return Some(Err(Bypass::UnsupportedLibrary));
        }
        // SAFETY: only a `&'static Methods` is stored.
        let methods = unsafe { METHODS.load(Ordering::Acquire).as_ref() }?;
        let first_method = (methods.first)(&api)?;
        let default_store_method = (methods.default_store)(&api)?;
        Some(Ok(Served { api, version, first_method, default_store_method }))
    }

    /// 1.1.1: loading a file successfully clears the error queue; no library contexts; no store lookups.
    pub fn is_before_3_0(&self) -> bool {
        self.version < VERSION_3_0
    }

    /// 3.0 to 3.3: the default paths also open the default directory as an OSSL_STORE. Later versions do not.
    pub fn opens_default_store(&self) -> bool {
        (VERSION_3_0..VERSION_3_4).contains(&self.version)
    }

    /// Before 4.0 the objects of a store are one sorted stack.
    pub fn sorts_objects(&self) -> bool {
        self.version < 0x4000_0000
    }

    /// Whether a certificate that is already in a store is recognised even if others of its subject are. Later versions
    /// search an unsorted stack, and see only neighbours (`X509_OBJECT_retrieve_match`, x509_lu.c); 4.0 does, too.
    pub fn recognises_all(&self) -> bool {
        self.version < 0x3010_0000
    }

    /// Whether `directory_search` knows this version's lookup of hashed directories.
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

/// The function that a call would have reached without us. It belongs to the libcrypto that the call was meant for,
/// even if the store belongs to another (a program that mixes two). This alone does not examine that libcrypto: most
/// processes never load trust.
pub fn forward<F: core::marker::Copy>(
    caller: Caller,
    name: &CStr,
    pick: impl Fn(&Originals) -> Option<F>,
) -> Option<F> {
    match KNOWN.known_of(caller) {
        Some(library) => pick(&library.originals),
        None => defined(LIBCRYPTO.copy(caller.copy()), name),
    }
}

/// A function that a copy defines.
pub fn defined<F: core::marker::Copy>(copy: &Copy, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    let address = copy.find(Name::new(name))?;
    // SAFETY: F is the type that the library's headers declare for `name`: an unsafe extern function pointer, as large
    // as an address.
    Some(unsafe { std::mem::transmute_copy::<usize, F>(&address) })
}

/// Calls an original. Calls that the original makes through libcrypto's PLT are internal and bypass our hooks.
macro_rules! original {
    ($caller:expr, $name:ident($($arg:expr),* $(,)?), or $failure:expr) => {{
        let _inside = $crate::hook::inside();
        $crate::openssl::libcrypto::transparent!($caller, $name($($arg),*), or $failure)
    }};
}

/// Calls an original on behalf of libcrypto, which works for the program here and not for us: the hooks do see the
/// calls that it makes through its PLT.
macro_rules! transparent {
    ($caller:expr, $name:ident($($arg:expr),* $(,)?), or $failure:expr) => {
        call_original!($crate::openssl::libcrypto::forward, ($caller), $name($($arg),*), or $failure)
    };
}
pub(crate) use original;
pub(crate) use transparent;

/// Switches this thread to the global default library context, and back to the previous one when dropped.
pub struct GlobalContext<'a> {
    originals: &'a Originals,
    previous: *mut OSSL_LIB_CTX,
}

impl Originals {
    /// Whether this thread's default library context is the global one (always true before 3.0).
    pub fn is_global_context(&self) -> bool {
        match (self.OSSL_LIB_CTX_set0_default, self.OSSL_LIB_CTX_get0_global_default) {
            // SAFETY: a null argument only asks for the current context.
            (Some(set), Some(global)) => unsafe { set(ptr::null_mut()) == global() },
            _ => true,
        }
    }

    /// Makes the global library context this thread's default until the value is dropped. All contexts share the
    /// certificates, so they must not depend on the thread that happens to parse them.
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
            // SAFETY: this thread's own previous context, which outlives the call that we are in.
            unsafe { set(self.previous) };
        }
    }
}
