//! NSS's certificate database: cert9.db, an SQLite file with a table of PKCS#11 objects (NSS, lib/softoken/sdb.c), one column
//! `aXX` an attribute, with its number in hexadecimal.
//!
//! SQLite gets the bytes of the file, not its name: so nothing is locked, no journal is replayed, and no file is made, whoever uses the
//! database meanwhile. What a running browser has not written yet is not seen.

use rusqlite::limits::Limit;
use rusqlite::{Connection, MAIN_DB};

use super::{Entry, MAX_CERTIFICATES, Trust, Unreadable};

const HEADER: &[u8] = b"SQLite format 3\0";
/// File format versions in the header: 2 is a database with a write-ahead log, which one in memory can't have.
const VERSIONS: std::ops::Range<usize> = 18..20;

/// A value of a well-formed database is a certificate, and small.
const MAX_VALUE: i32 = 1 << 20;
const MAX_BYTES: usize = 128 << 20;
/// Steps of SQLite's machine, in thousands. All of a large database takes a hundredth.
const MAX_STEPS: u64 = 50_000;

const MALFORMED: Unreadable = Unreadable::Malformed("an NSS database");

/// Certificates with their trust for servers. `CKT_NSS_*`, as 4 bytes: nssckt.h.
const QUERY: &str = "
    SELECT c.a11, c.a3, t.ace536358
    FROM nssPublic AS c LEFT JOIN nssPublic AS t ON t.a0 = x'ce534353' AND t.a81 = c.a81 AND t.a82 = c.a82
    WHERE c.a0 = x'00000001' ORDER BY c.id";
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
    certificates(&bytes).map_err(|error| match error {
        Failure::Sqlite(_) => MALFORMED,
        Failure::Unreadable(why) => why,
    })
}

enum Failure {
    #[expect(dead_code, reason = "what SQLite says about other people's bytes helps nobody")]
    Sqlite(rusqlite::Error),
    Unreadable(Unreadable),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Failure::Sqlite(error)
    }
}

fn certificates(bytes: &[u8]) -> Result<Vec<Entry>, Failure> {
    let mut database = Connection::open_in_memory()?;
    database.deserialize_read_exact(MAIN_DB, bytes, bytes.len(), true)?;
    database.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE)?;
    let mut steps = 0;
    let too_long = move || {
        steps += 1;
        steps > MAX_STEPS
    };
    database.progress_handler(1000, Some(too_long));
    // What is in the file may not run as part of a query: https://www.sqlite.org/security.html.
    database.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON;")?;
    let is_table = "SELECT count(*) FROM sqlite_master WHERE name = 'nssPublic' AND type = 'table'
        AND sql NOT LIKE 'CREATE VIRTUAL%'";
    if database.query_row(is_table, [], |row| row.get::<_, i64>(0))? != 1 {
        return Err(Failure::Unreadable(MALFORMED));
    }
    let mut query = database.prepare(QUERY)?;
    let mut rows = query.query([])?;
    let (mut all, mut size) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let bytes_of = |column: usize| Ok::<_, Failure>(row.get_ref(column)?.as_bytes_or_null().ok().flatten());
        let der = bytes_of(0)?.unwrap_or_default().to_vec();
        size += der.len();
        if all.len() == MAX_CERTIFICATES || size > MAX_BYTES {
            return Err(Failure::Unreadable(Unreadable::TooLarge));
        }
        let label = String::from_utf8_lossy(bytes_of(1)?.unwrap_or_default()).into_owned();
        let trust = match bytes_of(2)? {
            Some(value) if value == TRUSTED_DELEGATOR => Trust::Anchor,
            Some(value) if value == NOT_TRUSTED => Trust::Distrusted,
            _ => Trust::Nothing,
        };
        all.push(Entry { der, label, trust, added: None });
    }
    Ok(all)
}
