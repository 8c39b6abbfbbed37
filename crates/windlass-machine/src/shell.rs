//! Quoting a command as it would be typed into a shell.

/// Joins the words, quoted for a shell where needed.
pub fn quoted(words: &[String]) -> String {
    words.iter().enumerate().map(|(place, word)| one(word, place == 0)).collect::<Vec<_>>().join(" ")
}

fn one(word: &str, is_first: bool) -> String {
    let is_plain = |character: char| {
        character.is_alphanumeric()
            || matches!(character, '/' | '.' | '_' | '-' | '+' | ',' | ':' | '@' | '%')
            // In the first word, it would set a variable.
            || character == '=' && !is_first
    };
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_same_words() {
        let words = ["a=b", "--x=y", "", "it's", "a b", "$(x)", "~", "é", "a\nb"].map(String::from);
        assert_eq!(quoted(&words), "'a=b' --x=y '' 'it'\\''s' 'a b' '$(x)' '~' é 'a\nb'");
        let shown = std::process::Command::new("sh")
            .args(["-c", &format!("printf '%s|' {}", quoted(&words[1..]))])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(shown.stdout).unwrap(), words[1..].join("|") + "|");
    }
}
