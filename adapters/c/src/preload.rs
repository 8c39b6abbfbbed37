//! The preload library in this process: where it is, and its functions.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::mem::{MaybeUninit, transmute};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use windlass_interpose::append_list::AppendList;

use crate::border::Answer;
use crate::error::Failure;

/// Below the directory of this library: `make install-c` puts it there.
const BESIDE: &str = "windlass/libwindlass_preload.so";
const NAME: &[u8] = b"libwindlass_preload.so";

/// What the preload library exports (adapters/preload, `attach.rs` and `status.rs`).
#[derive(Clone, Copy)]
pub struct Functions {
    pub attach: unsafe extern "C" fn() -> c_int,
    pub detach: unsafe extern "C" fn() -> c_int,
    pub excuse: unsafe extern "C" fn(c_int) -> c_int,
    pub state: unsafe extern "C" fn() -> c_int,
    pub status: unsafe extern "C" fn(*mut c_char, usize) -> usize,
}

/// The functions, once they are known. The preload library is never unloaded, and a forked child must not need the
/// linker's locks, which stay locked there if another thread had them.
static FOUND: AppendList<Functions> = AppendList::new();

/// The functions of the preload library, if it is in this process: it came with `LD_PRELOAD`, or another package loaded
/// its own file of it.
pub fn functions() -> Option<Functions> {
    let known = FOUND.iter().next().copied();
    known.or_else(|| of_handle(libc::RTLD_DEFAULT)).or_else(loaded)
}

/// Loads the library that was installed with this one.
pub fn load() -> Answer<Functions> {
    let path = beside().map_err(|(path, why)| Failure::of_library(&path, why))?;
    check(&path).map_err(|why| Failure::of_library(&path, why))?;
    let failed = |why: &str| Failure::of_library(&path, why);
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| failed("a NUL byte in the path"))?;
    // SAFETY: the file is a whole library for this machine (`check`), and ours.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
    if handle.is_null() {
        // SAFETY: this thread's last error, which is copied at once.
        let why = unsafe { libc::dlerror().as_ref().map(|why| CStr::from_ptr(why).to_string_lossy().into_owned()) };
        return Err(failed(why.as_deref().unwrap_or("can't be loaded")));
    }
    of_handle(handle).ok_or_else(|| failed("is another library"))
}

fn of_handle(handle: *mut c_void) -> Option<Functions> {
    // SAFETY: the handle is RTLD_DEFAULT or of a loaded library; the names end in NUL.
    let find = |name: &CStr| ptr::NonNull::new(unsafe { libc::dlsym(handle, name.as_ptr()) }).map(ptr::NonNull::as_ptr);
    let (attach, detach) = (find(c"windlass_preload_attach")?, find(c"windlass_preload_detach")?);
    let excuse = find(c"windlass_preload_excuse")?;
    let (state, status) = (find(c"windlass_preload_state")?, find(c"windlass_preload_status")?);
    // SAFETY: functions of these names are the preload library's, and have these types.
    let functions = unsafe {
        Functions {
            attach: transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(attach),
            detach: transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(detach),
            excuse: transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> c_int>(excuse),
            state: transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(state),
            status: transmute::<*mut c_void, unsafe extern "C" fn(*mut c_char, usize) -> usize>(status),
        }
    };
    if FOUND.len() == 0 {
        FOUND.push(functions);
    }
    Some(functions)
}

/// Looks for the library among the loaded objects: who loaded it may have kept its functions to itself (`RTLD_LOCAL`).
fn loaded() -> Option<Functions> {
    let mut path: Option<CString> = None;
    // SAFETY: the callback gets the variable below, which lives until the call ends.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut path).cast()) };
    // SAFETY: the path of an object that is loaded; nothing is loaded by this.
    let handle = unsafe { libc::dlopen(path?.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    if handle.is_null() { None } else { of_handle(handle) }
}

unsafe extern "C" fn note(object: *mut libc::dl_phdr_info, _size: usize, path: *mut c_void) -> c_int {
    // SAFETY: the linker passes an object, whose name is null or ends in NUL.
    let name = unsafe { (*object).dlpi_name.as_ref().map(|name| CStr::from_ptr(name)) }.unwrap_or_default();
    let is_it = name.to_bytes().rsplit(|byte| *byte == b'/').next() == Some(NAME);
    if is_it {
        // SAFETY: the variable of `loaded`.
        unsafe { *path.cast::<Option<CString>>() = Some(name.to_owned()) };
    }
    c_int::from(is_it)
}

/// The path of the library that was installed with this one. No variable of the environment has a say in it.
fn beside() -> Result<PathBuf, (PathBuf, &'static str)> {
    let mut here = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: room for the answer; a zeroed one is valid.
    let info = unsafe {
        libc::dladdr((beside as fn() -> _) as *const c_void, here.as_mut_ptr());
        here.assume_init()
    };
    if info.dli_fname.is_null() {
        return Err((PathBuf::new(), "the path of libwindlass.so is not known"));
    }
    // SAFETY: the linker's own string, of this library, which stays loaded during this call.
    let own = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes()));
    match own.parent() {
        // It may lead elsewhere by now: the program may have changed its working directory.
        Some(directory) if own.is_absolute() => Ok(directory.join(BESIDE)),
        _ => Err((own.to_owned(), "libwindlass.so was loaded by a relative path")),
    }
}

/// Whether a file is a whole library for this machine. The linker maps a file that was cut off all the same, and the
/// process dies of SIGBUS.
fn check(path: &Path) -> Result<(), String> {
    const DAMAGED: &str = "damaged. Install it again";
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let size = file.metadata().map_err(|error| error.to_string())?.len();
    let mut header = [0; 64];
    file.read_exact(&mut header).map_err(|_| DAMAGED.to_owned())?;
    let number = |at: usize, len: usize| {
        let bytes = header.get(at..at + len).unwrap_or_default();
        bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte))
    };
    // ELF-64: e_machine; the table of sections is the last part of the file (e_shoff, e_shentsize, e_shnum).
    let (table, entry) = (number(40, 8), number(58, 2));
    let end = table.saturating_add(entry * number(60, 2));
    if header.get(..6) != Some(b"\x7fELF\x02\x01") || table == 0 || size < end {
        return Err(DAMAGED.to_owned());
    }
    // A file system may leave zeros at the end of a file that was being written when the machine stopped. The last
    // section (e_shstrndx) has the names of all; its type, sh_type, is 3.
    let mut kind = [0; 8];
    let names = table.saturating_add(entry * number(62, 2));
    file.seek(SeekFrom::Start(names)).and_then(|_| file.read_exact(&mut kind)).map_err(|_| DAMAGED.to_owned())?;
    if kind.get(4..) != Some(&[3, 0, 0, 0]) {
        return Err(DAMAGED.to_owned());
    }
    if number(18, 2) != MACHINE {
        return Err("for another kind of machine".to_owned());
    }
    Ok(())
}

#[cfg(target_arch = "x86_64")]
const MACHINE: u64 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u64 = 183;
