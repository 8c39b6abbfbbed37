//! The few settings of a systemd unit that matter to an activation (systemd.exec(5), systemd.syntax(7)).

/// What one file of a unit says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// About LD_PRELOAD.
    pub preload: Preload,
    /// Files whose variables come on top of that.
    pub environment_files: Vec<String>,
    /// A setting that gives the service another root directory.
    pub other_root: Option<String>,
    /// What `UnsetEnvironment` names: variables, and variables with the value that they must have to be taken away.
    pub unset: Vec<String>,
    /// What earlier files named there no longer counts.
    pub unset_begins_anew: bool,
}

/// What a file does to LD_PRELOAD.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Preload {
    /// Nothing.
    #[default]
    Untouched,
    /// It takes away what was set before.
    Unset,
    /// It sets this.
    Set(String),
}

/// Reads a unit file or a drop-in.
pub fn read(text: &str) -> Found {
    let mut found = Found::default();
    let mut in_service = false;
    for line in joined(text) {
        let line = line.trim();
        if line.starts_with('[') {
            in_service = line == "[Service]";
        }
        let Some((key, value)) = line.split_once('=').filter(|_| in_service) else { continue };
        let value = value.trim();
        match key.trim() {
            "Environment" if value.is_empty() => found.preload = Preload::Unset,
            "Environment" => {
                for word in words(value) {
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
            "UnsetEnvironment" => found.unset.extend(words(value)),
            key @ ("RootDirectory" | "RootImage") => {
                found.other_root = (!value.is_empty() && value != "/").then(|| format!("{key}={value}"));
            }
            _ => {}
        }
    }
    found
}

/// Lines, with those that end in a backslash joined, and without comments.
fn joined(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        if line.trim_start().starts_with(['#', ';']) {
            continue;
        }
        let (line, more) = match line.strip_suffix('\\') {
            Some(line) => (line, true),
            None => (line, false),
        };
        match lines.last_mut().filter(|_| goes_on) {
            Some(last) => {
                last.push(' ');
                last.push_str(line);
            }
            None => lines.push(line.to_owned()),
        }
        goes_on = more;
    }
    lines
}

/// The words of a value: quotes hold them together, a backslash takes the next character as it is, and a doubled per cent
/// sign stands for one.
fn words(value: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = value.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => word.get_or_insert_default().extend(characters.next()),
            '%' if characters.peek() == Some(&'%') => word.get_or_insert_default().extend(characters.next()),
            '"' | '\'' if quote == Some(character) => quote = None,
            '"' | '\'' if quote.is_none() => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            _ if character.is_whitespace() && quote.is_none() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
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
