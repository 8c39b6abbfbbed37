//! Everything accepted here must be accepted by libcrypto, as the same certificates in the same order. Real
//! certificates are changed at random, as text, as bytes and as trees, and passed to both.
//!
//! `WINDLASS_TEST_FACTOR=100` runs a hundred times as many cases, `WINDLASS_TEST_SEED=n` runs others.

mod support;

use fastrand::Rng;
use support::change::{CONTENTS, TAGS, change_node, edit};
use support::der::Node;
use support::judge::check;
use support::pem;

/// Mostly small certificates: libcrypto takes long for large ones.
fn samples() -> Vec<Vec<u8>> {
    let mut all = support::certificates(&support::bundle());
    all.sort_by_key(Vec::len);
    all.truncate(60);
    all
}

/// Runs `change` this many times, and requires both outcomes to occur.
fn run(times: u64, seed: u64, change: impl Fn(&mut Rng, &[Vec<u8>]) -> Vec<u8>) {
    let samples = samples();
    let mut rng = Rng::with_seed(support::seed() ^ seed);
    let times = times * support::factor();
    let accepted = (0..times).filter(|_| check(&change(&mut rng, &samples))).count() as u64;
    assert!(accepted > times / 100, "only {accepted} of {times} were accepted");
    assert!(accepted < times, "nothing was refused");
}

#[test]
fn changed_text() {
    run(12_000, 1, |rng, samples| {
        let mut text = Vec::new();
        for _ in 0..rng.usize(1..=2) {
            if rng.bool() {
                text.extend_from_slice(b"# A comment\nwith: lines\n\n");
            }
            text.extend(pem(rng.choice(samples).unwrap()));
        }
        edit(rng, &mut text);
        text
    });
}

/// Edits in critical places: moves, joins, splits and drops lines, and changes their ends.
#[test]
fn changed_lines() {
    run(12_000, 2, |rng, samples| {
        let first = pem(rng.choice(samples).unwrap());
        let second = pem(rng.choice(samples).unwrap());
        let text = [b"comment\n".as_slice(), &first, b"\n", &second].concat();
        let mut lines: Vec<Vec<u8>> = text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        let crlf = rng.u8(0..8) == 0;
        for line in lines.iter_mut().filter(|_| crlf) {
            line.pop();
            line.extend(b"\r\n");
        }
        for _ in 0..rng.usize(1..=2) {
            let place = rng.usize(0..lines.len());
            match rng.u8(0..11) {
                0 => drop(lines.remove(place)),
                1 => lines.insert(place, b"\n".to_vec()),
                2 => lines.insert(place, b"Proc-Type: 4,ENCRYPTED\n".to_vec()),
                3 => drop(lines[place].pop()),
                4 => {
                    let at = rng.usize(0..=lines[place].len());
                    lines[place].insert(at, b'\n');
                }
                5 => {
                    let end = lines[place].len() - 1;
                    let blanks: &[u8] =
                        rng.choice([&b" "[..], b"\t", b"\r", b"\r\r", b"\xc3\xa9", b"\0", b"="]).unwrap();
                    lines[place].splice(end..end, blanks.iter().copied());
                }
                6 => {
                    let other = rng.usize(0..lines.len());
                    lines.swap(place, other);
                }
                7 => lines.insert(place, vec![b'x'; rng.usize(190..260)]),
                8 => {
                    let label = rng
                        .choice(["X509 CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CRL", "CERTIFICATE ", ""])
                        .unwrap();
                    let line = format!("-----{} {label}-----\n", if rng.bool() { "BEGIN" } else { "END" });
                    lines.insert(place, line.into_bytes());
                }
                9 => {
                    // One that is cut at a length that matters to BIO_gets, so that the rest begins a line.
                    let mut line = vec![b'x'; rng.usize(252..257)];
                    line.extend_from_slice(b"-----BEGIN CERTIFICATE-----\n");
                    lines.insert(place, line);
                }
                _ => {
                    lines.truncate(place + 1);
                    if rng.bool() {
                        lines[place].pop();
                    }
                }
            }
            if lines.is_empty() || lines.iter().any(Vec::is_empty) {
                break;
            }
        }
        lines.concat()
    });
}

#[test]
fn changed_bytes_of_a_certificate() {
    run(3_000, 3, |rng, samples| {
        let mut der = rng.choice(samples).unwrap().clone();
        edit(rng, &mut der);
        pem(&der)
    });
}

#[test]
fn changed_nodes_of_a_certificate() {
    run(8_000, 4, |rng, samples| {
        let mut root = Node::parse(rng.choice(samples).unwrap());
        for _ in 0..rng.usize(1..=2) {
            change_node(rng, &mut root);
        }
        pem(&root.encode())
    });
}

/// Every pair of tag and content at every place of the tree: one in eight, another eighth with another seed, or all
/// with a factor of eight.
#[test]
fn every_tag_and_content_at_every_place() {
    let sample = samples().remove(0);
    let places = Node::parse(&sample).count();
    let mut rng = Rng::with_seed(support::seed());
    let mut accepted = 0;
    for place in 0..places {
        for tag in TAGS {
            for content in CONTENTS {
                if rng.u64(0..8) >= support::factor() {
                    continue;
                }
                let mut root = Node::parse(&sample);
                *root.at(place) = Node::bytes(tag, content);
                accepted += usize::from(check(&pem(&root.encode())));
            }
        }
    }
    assert!(accepted > 20, "{accepted}");
}

#[test]
fn several_changed_certificates_among_good_ones() {
    run(1_000, 5, |rng, samples| {
        let mut text = Vec::new();
        for _ in 0..rng.usize(2..6) {
            let mut root = Node::parse(rng.choice(samples).unwrap());
            if rng.u8(0..6) == 0 {
                change_node(rng, &mut root);
            }
            text.extend(pem(&root.encode()));
        }
        text
    });
}

/// A missing line end at the end of the file makes no difference to any version.
#[test]
fn the_last_line_needs_no_end() {
    let sample = samples().remove(0);
    let text = pem(&sample);
    assert!(check(&text));
    assert!(check(&text[..text.len() - 1]));
    assert!(!check(&text[..text.len() - 2]));
    let crlf: Vec<u8> =
        text.iter().flat_map(|&byte| if byte == b'\n' { vec![b'\r', b'\n'] } else { vec![byte] }).collect();
    assert!(check(&crlf));
    assert!(!check(&crlf[..crlf.len() - 1]));
}
