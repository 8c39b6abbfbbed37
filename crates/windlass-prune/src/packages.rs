//! The files that belong to packages: only the package manager may remove them.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use windlass_machine::regular;

use super::image::Image;
use windlass_journal::bytes_of_at_most;
use windlass_journal::is_nowhere;

/// In bytes. The lists of one package are smaller.
const MAX_LIST: u64 = 64 << 20;

/// The files of packages in some directories.
#[derive(Debug, Default)]
pub struct Packages {
    owned: BTreeMap<PathBuf, String>,
    asks_rpm: bool,
    are_unknown: bool,
}

impl Packages {
    /// Reads the databases of dpkg, pacman and apk below `root` for files in these directories. rpm is asked later,
    /// file by file; an image's rpm database is not read at all, because its format may differ.
    pub fn read(root: &Path, directories: &[PathBuf], image: Option<&Image>) -> Packages {
        let databases = Databases { root, image, is_unread: Cell::new(false) };
        let asks_rpm = root == Path::new("/") && is_rpm(root);
        let mut packages = Packages { asks_rpm, ..Packages::default() };
        let directories: HashSet<&Path> = directories.iter().map(PathBuf::as_path).collect();
        let mut known = Directories { image, known: HashMap::new() };
        let mut add = |path: PathBuf, package: &str| {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
            let real = if directories.contains(parent) { parent } else { known.real(parent) };
            if directories.contains(real) {
                packages.owned.insert(real.join(name), package.to_owned());
            }
        };
        for (path, package) in lists(&databases.at("var/lib/dpkg/info")) {
            databases.read(&path).lines().for_each(|line| add(line.into(), &package));
        }
        for (path, package) in subdirectories(&databases.at("var/lib/pacman/local")) {
            let files = databases.read(&path.join("files"));
            files.lines().for_each(|line| add(Path::new("/").join(line), &package));
        }
        let (mut package, mut directory) = (String::new(), PathBuf::new());
        for line in databases.read(&databases.at("lib/apk/db/installed")).lines() {
            match line.split_once(':') {
                Some(("P", name)) => package = name.to_owned(),
                Some(("F", path)) => directory = Path::new("/").join(path),
                Some(("R", name)) => add(directory.join(name), &package),
                _ => {}
            }
        }
        let has_rpm = image.is_some() && RPM_DATABASES.iter().any(|path| databases.at(path).exists());
        packages.are_unknown = has_rpm || databases.is_unread.get();
        packages
    }

    /// Whether the image has packages that could not be read.
    pub fn are_unknown(&self) -> bool {
        self.are_unknown
    }

    /// The package that a file or link belongs to.
    pub fn owner(&self, path: &Path) -> Option<String> {
        self.owned.get(path).cloned().or_else(|| self.asks_rpm.then(|| ask_rpm(path)).flatten())
    }
}

/// The locations of the databases. An image's databases may belong to anybody.
struct Databases<'a> {
    root: &'a Path,
    image: Option<&'a Image>,
    /// Set if the image has a database that can't be read.
    is_unread: Cell<bool>,
}

impl Databases<'_> {
    /// The path by which this process reaches a database; an empty one if it does not exist.
    fn at(&self, path: &str) -> PathBuf {
        let Some(image) = self.image else { return self.root.join(path) };
        image.reach(&Path::new("/").join(path)).unwrap_or_else(|error| self.unread(&error))
    }

    fn read(&self, path: &Path) -> String {
        let bytes = match self.image {
            Some(_) => regular::open(path)
                .and_then(|file| bytes_of_at_most(&file, MAX_LIST)?.ok_or_else(|| io::ErrorKind::FileTooLarge.into()))
                .unwrap_or_else(|error| self.unread(&error)),
            None => {
                let small = fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_LIST);
                if small { fs::read(path).unwrap_or_default() } else { Vec::new() }
            }
        };
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// An empty result. Records the error, unless the database does not exist.
    fn unread<T: Default>(&self, error: &io::Error) -> T {
        self.is_unread.set(self.is_unread.get() || !is_nowhere(error));
        T::default()
    }
}

/// The directories of packages, with links resolved. A package that names /lib/x has its file in /usr/lib, for
/// instance.
struct Directories<'a> {
    image: Option<&'a Image>,
    known: HashMap<PathBuf, PathBuf>,
}

impl Directories<'_> {
    /// Each directory is resolved only once: a machine has a hundred thousand of them.
    fn real(&mut self, path: &Path) -> &Path {
        if !self.known.contains_key(path) {
            let real = match (path.parent(), path.file_name()) {
                (Some(parent), Some(name)) => self.real(parent).join(name),
                _ => path.to_owned(),
            };
            let real = self.followed(&real).unwrap_or(real);
            self.known.insert(path.to_owned(), real);
        }
        self.known.get(path).map_or(Path::new(""), PathBuf::as_path)
    }

    /// The target of a link; None if it is not a link, or has no target.
    fn followed(&self, path: &Path) -> Option<PathBuf> {
        match self.image {
            None if path.is_symlink() => path.canonicalize().ok(),
            Some(image) if image.here(path).is_symlink() => Some(image.inside(&image.reach(path).ok()?)),
            _ => None,
        }
    }
}

/// The locations of rpm's database, in all its formats.
const RPM_DATABASES: [&str; 6] = [
    "usr/lib/sysimage/rpm/rpmdb.sqlite",
    "usr/lib/sysimage/rpm/Packages.db",
    "usr/lib/sysimage/rpm/Packages",
    "var/lib/rpm/rpmdb.sqlite",
    "var/lib/rpm/Packages.db",
    "var/lib/rpm/Packages",
];

fn is_rpm(root: &Path) -> bool {
    ["usr/bin/rpm", "usr/lib/sysimage/rpm", "var/lib/rpm/rpmdb.sqlite"].iter().all(|path| root.join(path).exists())
        || root.join("etc/redhat-release").exists()
}

fn ask_rpm(path: &Path) -> Option<String> {
    let mut rpm = Command::new("/usr/bin/rpm");
    rpm.args(["-qf", "--queryformat", "%{NAME}", "--"]).arg(path).stdin(Stdio::null()).stderr(Stdio::null());
    let output = rpm.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `NAME.list` and `NAME:ARCHITECTURE.list`.
fn lists(directory: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let name = entry.file_name().to_str()?.strip_suffix(".list")?.to_owned();
        Some((entry.path(), name.split(':').next().unwrap_or(&name).to_owned()))
    });
    named.collect()
}

fn subdirectories(directory: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| (entry.path(), entry.file_name().to_string_lossy().into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_databases_of_three_package_managers() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("var/lib/dpkg/info/corp-ca:amd64.list", "/.\n/etc/ssl/certs\n/etc/ssl/certs/a.pem\n/usr/a.pem\n");
        write("var/lib/pacman/local/ca-1.0-1/files", "%FILES%\netc/\netc/ssl/certs/b.pem\n");
        write("lib/apk/db/installed", "C:x\nP:ca\nF:etc/ssl/certs\nR:c.pem\nZ:y\n");
        let packages = Packages::read(root.path(), &["/etc/ssl/certs".into()], None);
        let owner = |path: &str| packages.owner(Path::new(path));
        assert_eq!(owner("/etc/ssl/certs/a.pem").as_deref(), Some("corp-ca"));
        assert_eq!(owner("/etc/ssl/certs/b.pem").as_deref(), Some("ca-1.0-1"));
        assert_eq!(owner("/etc/ssl/certs/c.pem").as_deref(), Some("ca"));
        assert_eq!((owner("/usr/a.pem"), owner("/etc/ssl/certs/d.pem")), (None, None));
    }

    /// dpkg lists paths as packages ship them, and these may go through a link of the system: /lib is a link to
    /// usr/lib.
    #[test]
    fn a_package_names_a_directory_by_a_link() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let store = root.join("usr/lib/certs");
        fs::create_dir_all(&store).unwrap();
        std::os::unix::fs::symlink("usr/lib", root.join("lib")).unwrap();
        std::os::unix::fs::symlink("certs", root.join("usr/lib/other")).unwrap();
        fs::create_dir_all(root.join("var/lib/dpkg/info")).unwrap();
        let list = ["lib/certs/a.pem", "lib/other/b.pem", "usr/lib/certs/c.pem", "lib/d.pem"];
        let list = list.map(|path| root.join(path).display().to_string()).join("\n");
        fs::write(root.join("var/lib/dpkg/info/corp-ca.list"), list).unwrap();
        let packages = Packages::read(&root, std::slice::from_ref(&store), None);
        for name in ["a.pem", "b.pem", "c.pem"] {
            assert_eq!(packages.owner(&store.join(name)).as_deref(), Some("corp-ca"), "{name}");
        }
        assert_eq!(packages.owner(&store.join("d.pem")), None);
    }
}
