//! Which files belong to a package: those are the package manager's to remove.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The lists of one package are smaller.
const MAX_LIST: u64 = 64 << 20;

/// What packages have in some directories.
#[derive(Debug, Default)]
pub struct Packages {
    owned: BTreeMap<PathBuf, String>,
    asks_rpm: bool,
}

impl Packages {
    /// Reads the databases of dpkg, pacman and apk below `root` for what is in these directories. rpm's is asked later, file by file.
    pub fn read(root: &Path, directories: &[PathBuf]) -> Packages {
        let mut packages = Packages { asks_rpm: root == Path::new("/") && is_rpm(root), ..Packages::default() };
        let directories: HashSet<&Path> = directories.iter().map(PathBuf::as_path).collect();
        let mut known = Directories::default();
        let mut add = |path: PathBuf, package: &str| {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
            let real = if directories.contains(parent) { parent } else { known.real(parent) };
            if directories.contains(real) {
                packages.owned.insert(real.join(name), package.to_owned());
            }
        };
        for (path, package) in lists(&root.join("var/lib/dpkg/info")) {
            read(&path).lines().for_each(|line| add(line.into(), &package));
        }
        for (path, package) in subdirectories(&root.join("var/lib/pacman/local")) {
            read(&path.join("files")).lines().for_each(|line| add(Path::new("/").join(line), &package));
        }
        let (mut package, mut directory) = (String::new(), PathBuf::new());
        for line in read(&root.join("lib/apk/db/installed")).lines() {
            match line.split_once(':') {
                Some(("P", name)) => package = name.to_owned(),
                Some(("F", path)) => directory = Path::new("/").join(path),
                Some(("R", name)) => add(directory.join(name), &package),
                _ => {}
            }
        }
        packages
    }

    /// The package that a file or link belongs to.
    pub fn owner(&self, path: &Path) -> Option<String> {
        self.owned.get(path).cloned().or_else(|| self.asks_rpm.then(|| ask_rpm(path)).flatten())
    }
}

/// The directories of packages without links. A package that names /lib/x has its file in /usr/lib, and so in other cases.
#[derive(Default)]
struct Directories(HashMap<PathBuf, PathBuf>);

impl Directories {
    /// Each directory is looked at once: a machine has a hundred thousand of them.
    fn real(&mut self, path: &Path) -> &Path {
        if !self.0.contains_key(path) {
            let real = match (path.parent(), path.file_name()) {
                (Some(parent), Some(name)) => self.real(parent).join(name),
                _ => path.to_owned(),
            };
            let real = if real.is_symlink() { real.canonicalize().unwrap_or(real) } else { real };
            self.0.insert(path.to_owned(), real);
        }
        self.0.get(path).map_or(Path::new(""), PathBuf::as_path)
    }
}

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

fn read(path: &Path) -> String {
    let small = fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_LIST);
    let bytes = if small { fs::read(path).unwrap_or_default() } else { Vec::new() };
    String::from_utf8_lossy(&bytes).into_owned()
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
        let packages = Packages::read(root.path(), &["/etc/ssl/certs".into()]);
        let owner = |path: &str| packages.owner(Path::new(path));
        assert_eq!(owner("/etc/ssl/certs/a.pem").as_deref(), Some("corp-ca"));
        assert_eq!(owner("/etc/ssl/certs/b.pem").as_deref(), Some("ca-1.0-1"));
        assert_eq!(owner("/etc/ssl/certs/c.pem").as_deref(), Some("ca"));
        assert_eq!((owner("/usr/a.pem"), owner("/etc/ssl/certs/d.pem")), (None, None));
    }

    /// dpkg lists what a package ships, which may lead through a link of the system: /lib is one to usr/lib.
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
        let packages = Packages::read(&root, std::slice::from_ref(&store));
        for name in ["a.pem", "b.pem", "c.pem"] {
            assert_eq!(packages.owner(&store.join(name)).as_deref(), Some("corp-ca"), "{name}");
        }
        assert_eq!(packages.owner(&store.join("d.pem")), None);
    }
}
