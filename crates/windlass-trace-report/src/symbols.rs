//! Names of native frames, looked up after the run in the object files of the processes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use object::{CompressionFormat, Object, ObjectSection, ReadCache};

use super::model::Module;

/// The directory for separate debug information (GDB manual, "Separate Debug Files").
const DEBUG_DIRECTORY: &str = "/usr/lib/debug";
/// The most inlined functions at one address.
const MAX_INLINED: usize = 32;
const MAX_FILES: usize = 1_000;
/// Larger files are not read: the loader reads all symbols.
const MAX_BYTES: u64 = 4 << 30;

/// Compressed debug information that would become larger than this is not unpacked: a small file could fill the memory.
const MAX_UNPACKED: u64 = 1 << 30;

/// A function that contains an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The demangled name.
    pub name: String,
    /// Source file and line.
    pub place: Option<String>,
}

/// The files opened up to now.
#[derive(Default)]
pub struct Symbols {
    files: HashMap<PathBuf, Option<Files>>,
}

/// An object, and its debug information if that is in a separate file.
struct Files {
    own: Loader,
    separate: Option<Loader>,
}

impl Symbols {
    /// The functions at an address of a file, innermost first: several if some were inlined. Empty if nothing is known.
    pub fn at(&mut self, module: &Module, address: u64) -> Vec<Function> {
        let path = PathBuf::from(&module.path);
        if self.files.len() >= MAX_FILES && !self.files.contains_key(&path) {
            return Vec::new();
        }
        let files = self.files.entry(path).or_insert_with_key(|path| open(path, module.build_id.as_deref()));
        let Some(files) = files else {
            return Vec::new();
        };
        let loaders = files.separate.iter().chain([&files.own]);
        for loader in loaders {
            let functions = functions(loader, address);
            if !functions.is_empty() {
                return functions;
            }
        }
        Vec::new()
    }
}

fn functions(loader: &Loader, address: u64) -> Vec<Function> {
    let mut functions = Vec::new();
    if let Ok(mut frames) = loader.find_frames(address) {
        while let Ok(Some(frame)) = frames.next() {
            let Some(name) = frame.function else {
                continue;
            };
            let Ok(name) = name.demangle().map(Cow::into_owned) else {
                continue;
            };
            let place = frame.location.and_then(|location| {
                let file = location.file?.rsplit('/').next()?.to_owned();
                Some(location.line.map_or(file.clone(), |line| format!("{file}:{line}")))
            });
            functions.push(Function { name, place });
            if functions.len() >= MAX_INLINED {
                break;
            }
        }
    }
    if functions.is_empty() {
        let name = loader.find_symbol(address).map(|name| addr2line::demangle_auto(Cow::Borrowed(name), None));
        functions.extend(name.map(|name| Function { name: name.into_owned(), place: None }));
    }
    functions
}

/// A file other than the one that the process had is useless, and gives None.
fn open(path: &Path, build_id: Option<&str>) -> Option<Files> {
    let identity = Identity::read(path)?;
    if build_id.is_some() && build_id != identity.build_id.as_deref() {
        return None;
    }
    let own = Loader::new(path).ok()?;
    let separate = identity.separate(path).into_iter().find_map(|debug| {
        let found = Identity::read(&debug).filter(|found| found.build_id == identity.build_id)?;
        let supplement = found.supplement.map(|link| debug.parent().unwrap_or(Path::new("/")).join(link));
        let supplement = supplement.filter(|path| path.is_file());
        Loader::new_with_sup(&debug, supplement).ok()
    });
    Some(Files { own, separate })
}

/// The identity that an object file states for itself and its debug information.
struct Identity {
    build_id: Option<String>,
    link: Option<PathBuf>,
    supplement: Option<PathBuf>,
}

impl Identity {
    fn read(path: &Path) -> Option<Identity> {
        let metadata = path.metadata().ok()?;
        // Opening a FIFO or a device could block, or have side effects.
        if !metadata.is_file() || metadata.len() > MAX_BYTES {
            return None;
        }
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let unpacked = file.sections().filter_map(|section| section.compressed_file_range().ok());
        let unpacked = unpacked.filter(|range| range.format != CompressionFormat::None);
        if unpacked.fold(0u64, |sum, range| sum.saturating_add(range.uncompressed_size)) > MAX_UNPACKED {
            return None;
        }
        let text = |bytes: &[u8]| PathBuf::from(String::from_utf8_lossy(bytes).into_owned());
        Some(Identity {
            build_id: file.build_id().ok().flatten().map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect()),
            link: file.gnu_debuglink().ok().flatten().map(|(name, _)| text(name)),
            supplement: file.gnu_debugaltlink().ok().flatten().map(|(name, _)| text(name)),
        })
    }

    fn separate(&self, path: &Path) -> Vec<PathBuf> {
        let mut candidates = Vec::new();
        if let Some((start, rest)) = self.build_id.as_deref().and_then(|id| id.split_at_checked(2)) {
            candidates.push(Path::new(DEBUG_DIRECTORY).join(".build-id").join(start).join(format!("{rest}.debug")));
        }
        if let (Some(name), Some(directory)) = (&self.link, path.parent()) {
            let under_root = directory.strip_prefix("/").unwrap_or(directory);
            candidates.push(directory.join(name));
            candidates.push(directory.join(".debug").join(name));
            candidates.push(Path::new(DEBUG_DIRECTORY).join(under_root).join(name));
        }
        candidates.retain(|candidate| candidate != path && candidate.is_file());
        candidates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str, build_id: Option<&str>) -> Module {
        Module { path: path.into(), build_id: build_id.map(str::to_owned) }
    }

    /// The address of a function in this test program's file.
    fn address_of(name: &str) -> u64 {
        use object::ObjectSymbol;
        let data = std::fs::read("/proc/self/exe").unwrap();
        let file = object::File::parse(&*data).unwrap();
        file.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap().address()
    }

    #[unsafe(no_mangle)]
    #[inline(never)]
    #[allow(unsafe_code)]
    extern "C" fn windlass_trace_symbols_test() -> u32 {
        std::hint::black_box(7)
    }

    #[test]
    fn a_function_is_found_by_its_address() {
        assert_eq!(windlass_trace_symbols_test(), 7);
        let executable = std::env::current_exe().unwrap().to_string_lossy().into_owned();
        let found = Symbols::default().at(&module(&executable, None), address_of("windlass_trace_symbols_test"));
        assert!(found.iter().any(|function| function.name == "windlass_trace_symbols_test"), "{found:?}");
        let place = found.last().and_then(|function| function.place.clone()).unwrap();
        assert!(place.starts_with("symbols.rs:"), "{place}");
    }

    #[test]
    fn another_file_of_that_name_is_not_believed() {
        let executable = std::env::current_exe().unwrap().to_string_lossy().into_owned();
        let address = address_of("windlass_trace_symbols_test");
        assert_eq!(Symbols::default().at(&module(&executable, Some("00ff")), address), []);
    }

    #[test]
    fn what_is_no_object_file_has_no_names() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "\x7fELF\x02\x01\x01 torn").unwrap();
        for path in [file.path().to_str().unwrap(), "/dev/zero", "/", "/no/such/file", "[vdso]", ""] {
            assert_eq!(Symbols::default().at(&module(path, None), 16), [], "{path}");
        }
    }
}
