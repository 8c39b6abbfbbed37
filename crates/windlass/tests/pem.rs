//! The text around and inside the blocks: the accepted forms, and those left to the stock library although some of its
//! versions read them.

mod support;

use support::{libcrypto, pem};
use windlass::{PemFault, RootStore, Unsupported};

/// Two certificates.
fn blocks() -> [String; 2] {
    let all = support::certificates(&support::bundle());
    [0, 1].map(|n| String::from_utf8(pem(&all[n])).unwrap())
}

#[test]
fn what_is_taken() {
    let [a, b] = blocks();
    let lines: Vec<&str> = a.lines().collect();
    let joined: String = lines[1..lines.len() - 1].concat();
    let in_lines_of = |len: usize| {
        let lines: Vec<&str> = joined.as_bytes().chunks(len).map(|line| str::from_utf8(line).unwrap()).collect();
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
    };
    let comment = "x".repeat(199);
    let texts = [
        a.clone(),
        format!("{a}{b}{a}"),
        format!("\n\n# A comment: with a colon\n{a}=====\n\r\n \t\n{b}end"),
        format!("---- four dashes, and -----five behind\n{a}"),
        format!("{comment}\n{a}"),
        format!("Überschrift \u{feff}\n{a}"),
        a.replace('\n', "\r\n"),
        a.trim_end().to_owned(),
        in_lines_of(1),
        in_lines_of(3),
        in_lines_of(76),
        // The first lines are alike, and then they are not.
        format!("{}{}", in_lines_of(64), in_lines_of(60)),
        a.replacen("\n", "\r\n", 3),
    ];
    for text in texts {
        let store = RootStore::from_pem(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let ours: Vec<&[u8]> = store.anchors().map(|anchor| anchor.der()).collect();
        assert_eq!(libcrypto::load(text.as_bytes()).unwrap(), ours, "{text}");
    }
}

/// A line that the guess by the first line's length joins with the END line is found by the search.
#[test]
fn a_line_end_where_the_first_line_had_it() {
    let sample = support::certificates(&support::bundle()).remove(0);
    let text = String::from_utf8(pem(&sample)).unwrap();
    let joined: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    for first in 1..=76 {
        // Behind the first line one so short that the next line end is where the first had it.
        for second in [1, first / 2] {
            let (head, rest) = joined.split_at(first);
            let (short, rest) = rest.split_at(second.max(1));
            let third = first.saturating_sub(second.max(1) + 1);
            let (next, rest) = rest.split_at(third);
            let rest: Vec<&str> = rest.as_bytes().chunks(50).map(|line| str::from_utf8(line).unwrap()).collect();
            let lines: Vec<&str> = [&[head, short, next], rest.as_slice()].concat();
            let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
            let text = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"));
            let store = RootStore::from_pem(text.as_bytes()).unwrap();
            assert_eq!(store.anchors().next().unwrap().der(), sample);
            assert_eq!(libcrypto::load(text.as_bytes()), Some(vec![sample.clone()]));
        }
    }
}

#[test]
fn what_is_not_taken() {
    use PemFault::*;

    let [a, b] = blocks();
    let line = a.lines().nth(1).unwrap();
    let body: String = a.lines().filter(|line| !line.starts_with('-')).map(|line| format!("{line}\n")).collect();
    let block = |body: &str| format!("-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n");
    let in_block = |from: &str, to: &str| block(&body.replacen(from, to, 1));
    let texts = [
        (ByteOrderMark, format!("\u{feff}{a}")),
        (OtherLabel, format!("{a}-----BEGIN X509 CRL-----\n{body}-----END X509 CRL-----\n")),
        (OtherLabel, a.replace("CERTIFICATE", "TRUSTED CERTIFICATE")),
        (OtherLabel, a.replace("CERTIFICATE", "X509 CERTIFICATE")),
        (OtherLabel, format!("{a}-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\n")),
        (OtherLabel, format!("-----END CERTIFICATE-----\n{a}")),
        (OtherLabel, format!("-----\n{a}")),
        (OtherLabel, format!("x -----BEGIN CERTIFICATE-----\n{a}")),
        (OtherLabel, format!("x -----END CERTIFICATE-----\n{a}")),
        (OtherLabel, a.replacen("-----\n", "----- \n", 1)),
        (OtherLabel, format!(" {a}")),
        (OtherLabel, format!("{a}-----BEGIN CERTIFICATE-----\r")),
        (LongLine, format!("{}\n{a}", "x".repeat(200))),
        (NulByte, format!("x\0\n{a}")),
        (NulByte, format!("{a}\0")),
        (EmptyBlock, block("")),
        (Unterminated, a.replace("-----END CERTIFICATE-----\n", "")),
        (NotBase64, format!("{}{b}", a.replace("-----END CERTIFICATE-----\n", ""))),
        (NotBase64, a.replace("-----END CERTIFICATE-----", "-----END TRUSTED CERTIFICATE-----")),
        (NotBase64, a.replace("-----END CERTIFICATE-----", "-----END CERTIFICATE----- ")),
        (NotBase64, a.replace("-----END CERTIFICATE-----\n", "-----END CERTIFICATE-----\r")),
        (NotBase64, in_block("\n", "\n\n")),
        (NotBase64, in_block("\n", " \n")),
        (NotBase64, in_block("\n", "\r\r\n")),
        (NotBase64, in_block("\n", "")),
        (NotBase64, in_block(line, &format!(" {line}"))),
        (NotBase64, in_block(line, &format!("Proc-Type: 4,ENCRYPTED\n{line}"))),
        (NotBase64, in_block(line, &line.replacen('M', "-", 1))),
        (NotBase64, in_block(line, &line.replacen('M', "_", 1))),
        (NotBase64, in_block(line, &line.replacen('M', "\0", 1))),
        (NotBase64, in_block(line, &line.replacen('M', "=", 1))),
        (NotBase64, block("MA\n")),
        (NotBase64, block("MA=\n")),
        (NotBase64, block("MB==\n")),
        (NotBase64, block("MA===\n")),
        (NotBase64, block("MAA=\nMAAA\n")),
    ];
    for (expected, text) in texts {
        match RootStore::from_pem(text.as_bytes()) {
            Err(Unsupported::Pem { fault, .. }) => assert_eq!(fault, expected, "{text}"),
            other => panic!("{other:?}\n{text}"),
        }
    }
}

/// The reported line is the one to look at, even if the fault is only found when the block is decoded.
#[test]
fn the_line_of_a_fault() {
    let [a, _] = blocks();
    let lines: Vec<&str> = a.lines().collect();
    let last = lines.len() - 2;
    // `# comment` is line 1, so the line of this index is two more.
    for (index, old, new, told) in [
        (1, "M", "_", 3),
        (2, "", "*", 4),
        (3, "", "=", 5),
        (last, "", "\u{e9}", last + 2),
        // Too many digits: it is unknown which line has one too many.
        (2, "", "A", last + 2),
        // A line that is not base64 is reported when it is read.
        (4, "", "-", 6),
    ] {
        for end in ["\n", "\r\n"] {
            let mut changed: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
            changed[index] = changed[index].replacen(old, new, 1);
            if old.is_empty() {
                changed[index] = format!("{new}{}", lines[index]);
            }
            let text = format!("# comment{end}{}{end}", changed.join(end));
            match RootStore::from_pem(text.as_bytes()) {
                Err(Unsupported::Pem { line, .. }) => assert_eq!(line, told as u64, "{text}"),
                other => panic!("{other:?}\n{text}"),
            }
        }
    }
}
