//! The few settings of a systemd unit that matter to an activation (systemd.exec(5)).

use windlass_machine::unit_file;

/// The relevant settings in one file of a unit.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Its effect on LD_PRELOAD.
    pub preload: Preload,
    /// Files with further variables, which override that.
    pub environment_files: Vec<String>,
    /// A setting that gives the service another root directory.
    pub other_root: Option<String>,
    /// The words of `UnsetEnvironment`: variables, or assignments that are removed only if the value matches.
    pub unset: Vec<String>,
    /// The words of earlier files no longer count.
    pub unset_begins_anew: bool,
}

/// The effect of a file on LD_PRELOAD.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Preload {
    /// No effect.
    #[default]
    Untouched,
    /// The earlier value is removed.
    Unset,
    /// A new value.
    Set(String),
}

/// Reads a unit file or a drop-in.
pub fn read(text: &str) -> Found {
    let mut found = Found::default();
    let mut in_service = false;
    for (line, _) in unit_file::lines(text.as_bytes()) {
        let line = line.trim_ascii();
        if line.starts_with(b"[") {
            in_service = line == b"[Service]";
        }
        let Some((key, value)) = unit_file::setting(line).filter(|_| in_service) else { continue };
        let (key, value) = (String::from_utf8_lossy(key), String::from_utf8_lossy(value));
        match &*key {
            "Environment" if value.is_empty() => found.preload = Preload::Unset,
            "Environment" => {
                for word in words(&value) {
                    if let Some(value) = word.strip_prefix("LD_PRELOAD=") {
                        found.preload = Preload::Set(value.to_owned());
                    }
                }
            }
            "EnvironmentFile" if value.is_empty() => found.environment_files.clear(),
            "EnvironmentFile" => found.environment_files.push(value.trim_start_matches('-').to_owned()),
            "UnsetEnvironment" if value.is_empty() => {
                found.unset.clear();
                found.unset_begins_anew = true;
            }
            "UnsetEnvironment" => found.unset.extend(words(&value)),
            "RootDirectory" | "RootImage" => {
                found.other_root = (!value.is_empty() && value != "/").then(|| format!("{key}={value}"));
            }
            _ => {}
        }
    }
    found
}

fn words(value: &str) -> impl Iterator<Item = String> {
    unit_file::words(value.as_bytes()).into_iter().map(|word| String::from_utf8_lossy(&word).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preload(text: &str) -> Preload {
        read(&format!("[Service]\n{text}")).preload
    }

    #[test]
    fn the_last_setting_of_the_variable_counts() {
        let set = |value: &str| Preload::Set(value.into());
        assert_eq!(preload("ExecStart=/bin/true\n"), Preload::Untouched);
        assert_eq!(preload("Environment=LD_PRELOAD=/a.so\n"), set("/a.so"));
        assert_eq!(preload("Environment=A=1 \"LD_PRELOAD=/a.so /b.so\" B=2\n"), set("/a.so /b.so"));
        assert_eq!(preload("Environment=A=1 \\\n  'LD_PRELOAD=/a%%b.so'\n"), set("/a%b.so"));
        assert_eq!(preload("Environment=LD_PRELOAD=/a.so\nEnvironment=LD_PRELOAD=/b.so\n"), set("/b.so"));
        assert_eq!(preload("Environment=LD_PRELOAD=/a.so\nEnvironment=\n"), Preload::Unset);
        assert_eq!(preload("#Environment=LD_PRELOAD=/a.so\n"), Preload::Untouched);
        assert_eq!(preload("Environment=XLD_PRELOAD=/a.so\n"), Preload::Untouched);
        assert_eq!(read("[Unit]\nEnvironment=LD_PRELOAD=/a.so\n").preload, Preload::Untouched);
    }

    #[test]
    fn what_is_unset_last_is_kept_apart_from_what_is_set() {
        let found =
            read("[Service]\nEnvironment=LD_PRELOAD=/a.so\nUnsetEnvironment=A LD_PRELOAD\nUnsetEnvironment=B=1\n");
        assert_eq!(found.preload, Preload::Set("/a.so".into()));
        assert_eq!(
            (found.unset, found.unset_begins_anew),
            (vec!["A".into(), "LD_PRELOAD".into(), "B=1".into()], false)
        );
        let found = read("[Service]\nUnsetEnvironment=LD_PRELOAD\nUnsetEnvironment=\nUnsetEnvironment=C\n");
        assert_eq!((found.unset, found.unset_begins_anew), (vec!["C".into()], true));
    }

    #[test]
    fn environment_files_and_other_roots_are_seen() {
        let found = read("[Service]\nEnvironmentFile=-/etc/default/x\nRootDirectory=/srv/jail\n");
        assert_eq!(found.environment_files, ["/etc/default/x"]);
        assert_eq!(found.other_root.as_deref(), Some("RootDirectory=/srv/jail"));
        assert_eq!(read("[Service]\nEnvironmentFile=/x\nEnvironmentFile=\nRootDirectory=/\n"), Found::default());
    }
}
