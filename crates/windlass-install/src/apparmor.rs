//! AppArmor, which lets confined programs map libraries from /usr/lib and from few other places
//! (apparmor.d/abstractions/base).

use std::path::Path;

use super::destination::{Destination, Last};

/// All loaded profiles, as `NAME (MODE)`. Exists only where securityfs is mounted, and is often readable by root only.
const PROFILES: &str = "/sys/kernel/security/apparmor/profiles";
/// `Y` or `N`.
const ENABLED: &str = "/sys/module/apparmor/parameters/enabled";

/// A note about a library that programs of the machine are to load; None if AppArmor keeps no program from loading it.
pub fn note(destination: &Destination, library: &Path) -> Option<String> {
    let is_usual = ["/usr/lib", "/usr/lib32", "/usr/lib64"].iter().any(|directory| library.starts_with(directory));
    if is_usual {
        return None;
    }
    let confines = match read(destination, PROFILES) {
        Some(profiles) => profiles.lines().any(is_enforced).then_some("AppArmor has profiles in enforce mode here")?,
        None => read(destination, ENABLED).filter(|enabled| enabled.trim() == "Y").map(|_| "AppArmor is on here")?,
    };
    Some(format!(
        "{confines}: the usual profiles don't let programs map {0}, and the loader would print an error at each start \
         of such a program (`aa-status` lists them); use the package, whose library is in /usr/lib, or add `{1}/*.so \
         mr,` to the \
         profiles' local rules",
        library.display(),
        library.parent().unwrap_or(library).display(),
    ))
}

/// A profile in kill mode is enforced too; one in complain mode lets everything pass.
fn is_enforced(profile: &str) -> bool {
    ["(enforce)", "(kill)"].iter().any(|mode| profile.trim_end().ends_with(mode))
}

fn read(destination: &Destination, path: &str) -> Option<String> {
    let real = destination.real(Path::new(path), Last::Followed).ok()?;
    std::fs::read(real).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_where_profiles_are_enforced_and_only_for_unusual_places() {
        let directory = tempfile::tempdir().unwrap();
        let destination = Destination::system(Some(directory.path())).unwrap();
        let library = Path::new("/usr/local/lib/windlass/x.so");
        let write = |path: &str, text: &str| {
            let path = directory.path().join(&path[1..]);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(note(&destination, library), None);
        write(ENABLED, "N\n");
        assert_eq!(note(&destination, library), None);
        write(ENABLED, "Y\n");
        assert!(note(&destination, library).unwrap().starts_with("AppArmor is on here: "));
        write(PROFILES, "/usr/bin/man (complain)\nfirefox//x (unconfined)\n");
        assert_eq!(note(&destination, library), None, "nothing is kept from anybody");
        write(PROFILES, "/usr/bin/man (complain)\n/usr/sbin/cupsd (enforce)\n");
        let said = note(&destination, library).unwrap();
        assert!(said.contains("enforce mode") && said.contains("`/usr/local/lib/windlass/*.so mr,`"), "{said}");
        assert_eq!(note(&destination, Path::new("/usr/lib/x86_64-linux-gnu/windlass/x.so")), None);
    }
}
