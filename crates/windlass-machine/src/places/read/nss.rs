//! NSS's certificate database: cert9.db, an SQLite file with a table of PKCS#11 objects (NSS, lib/softoken/sdb.c), one
//! column `aXX` per attribute, with its number in hexadecimal.
//!
//! SQLite gets the bytes of the file, not its name: nothing is locked, no journal is replayed, and no file is made,
//! even while another program uses the database. Data that a running browser has not written yet is not seen.

use std::collections::BTreeMap;

use rusqlite::limits::Limit;
use rusqlite::{Connection, MAIN_DB};

use super::{Entry, MAX_CERTIFICATES, Trust, Unreadable};

const HEADER: &[u8] = b"SQLite format 3\0";
/// File format versions in the header: 2 is a database with a write-ahead log, which is impossible in memory.
const VERSIONS: std::ops::Range<usize> = 18..20;

/// In bytes. The values of a well-formed database are certificates, and small.
const MAX_VALUE: i32 = 1 << 20;
const MAX_BYTES: usize = 128 << 20;
/// Steps of SQLite's virtual machine, in thousands. Reading a large database takes a hundredth.
const MAX_STEPS: u64 = 50_000;
/// Limits on other features by which a file could cause much work.
const LIMITS: [(Limit, i32); 5] = [
    (Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 256 << 10),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 20),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 4),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50),
];

const MALFORMED: Unreadable = Unreadable::Malformed("an NSS database");

const SCHEMA: &str = "SELECT sql FROM sqlite_master WHERE name = 'nssPublic'";
/// SQLite neither sorts nor joins these: it would keep copies, while rows can share their bytes.
const TRUST: &str = "SELECT a81, a82, ace536358 FROM nssPublic WHERE a0 = x'ce534353'";
const CERTIFICATES: &str = "SELECT a81, a82, a11, a3 FROM nssPublic WHERE a0 = x'00000001'";
/// `CKT_NSS_*`, as 4 bytes: nssckt.h.
const TRUSTED_DELEGATOR: [u8; 4] = [0xCE, 0x53, 0x43, 0x52];
const NOT_TRUSTED: [u8; 4] = [0xCE, 0x53, 0x43, 0x5A];

/// All certificates.
pub fn read(bytes: &[u8]) -> Result<Vec<Entry>, Unreadable> {
    if !bytes.starts_with(HEADER) {
        return Err(MALFORMED);
    }
    let mut bytes = bytes.to_vec();
    if let Some(versions) = bytes.get_mut(VERSIONS) {
        versions.fill(1);
    }
    certificates(&bytes)
}

impl From<rusqlite::Error> for Unreadable {
    /// What SQLite says about other people's bytes helps nobody.
    fn from(_: rusqlite::Error) -> Self {
        MALFORMED
    }
}

fn certificates(bytes: &[u8]) -> Result<Vec<Entry>, Unreadable> {
    let mut database = Connection::open_in_memory()?;
    database.deserialize_read_exact(MAIN_DB, bytes, bytes.len(), true)?;
    for (limit, value) in LIMITS {
        database.set_limit(limit, value)?;
    }
    let mut steps = 0;
    let too_long = move || {
        steps += 1;
        steps > MAX_STEPS
    };
    database.progress_handler(1000, Some(too_long));
    // Nothing in the file may run as part of a query: https://www.sqlite.org/security.html.
    database.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON;")?;
    let schema: String = database.query_row(SCHEMA, [], |row| row.get(0))?;
    if !is_plain_table(&schema) {
        return Err(MALFORMED);
    }
    let mut left = MAX_BYTES;
    let mut trust = BTreeMap::new();
    each(&database, TRUST, &mut left, |[issuer, serial, value]| {
        let says = match value {
            value if value == TRUSTED_DELEGATOR => Trust::Anchor,
            value if value == NOT_TRUSTED => Trust::Distrusted,
            _ => Trust::Nothing,
        };
        // Of two that contradict each other, NSS may use either.
        let known = trust.entry((issuer.to_vec(), serial.to_vec())).or_insert(says);
        if says == Trust::Distrusted {
            *known = says;
        }
    })?;
    let mut all = Vec::new();
    each(&database, CERTIFICATES, &mut left, |[issuer, serial, der, label]| {
        let trust = trust.get(&(issuer.to_vec(), serial.to_vec())).copied().unwrap_or(Trust::Nothing);
        all.push(Entry { der: der.to_vec(), label: String::from_utf8_lossy(label).into_owned(), trust, added: None });
    })?;
    Ok(all)
}

/// Passes the values of each row on. A value that is not bytes is passed as empty.
fn each<const N: usize>(
    database: &Connection,
    query: &str,
    left: &mut usize,
    mut take: impl FnMut([&[u8]; N]),
) -> Result<(), Unreadable> {
    let mut query = database.prepare(query)?;
    let mut rows = query.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        let mut values: [&[u8]; N] = [&[]; N];
        for (column, value) in values.iter_mut().enumerate() {
            *value = row.get_ref(column)?.as_bytes_or_null().ok().flatten().unwrap_or_default();
        }
        count += 1;
        let size = values.iter().map(|value| value.len()).sum::<usize>();
        let (false, Some(rest)) = (count > MAX_CERTIFICATES, left.checked_sub(size)) else {
            return Err(Unreadable::TooLarge);
        };
        *left = rest;
        take(values);
    }
    Ok(())
}

/// Whether it is a plain table of names, as NSS makes it (`CREATE_TABLE_CMD`, lib/softoken/sdb.c). A view, a virtual
/// table or a generated column is a program, and needs a word before the parenthesis, or another parenthesis inside:
/// without these, nothing in the file is evaluated. SQLite compiles the text, whatever the file says about its type,
/// and each name has only one text.
fn is_plain_table(schema: &str) -> bool {
    let columns = schema.strip_prefix("CREATE TABLE nssPublic").map(str::trim_start);
    let columns = columns.and_then(|rest| rest.strip_prefix('(')?.strip_suffix(')'));
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || matches!(byte, b',' | b'_');
    columns.is_some_and(|columns| columns.bytes().all(is_plain))
}
