//! Moves a file or a link to another directory, across file systems too: with its bytes, mode, owner, times and
//! extended attributes.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};

use rustix::fs::{AtFlags, Gid, Mode, Timespec, Timestamps, Uid};

use super::changes::{copy_extended, temporary};
use super::directory::Directory;
use super::seen::{Held, Seen};

/// In bytes. Larger files are none of those that are moved here.
pub const MAX_FILE: u64 = 1 << 20;

/// Moves `name` to `to`, where `new` must be free. If the moved file is not the one in `seen`, it goes back, and this
/// is an error.
pub fn transfer(from: &Directory, name: &OsStr, to: &Directory, new: &OsStr, seen: &Seen) -> io::Result<()> {
    match from.rename(name, to, new) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => return copy(from, name, to, new, seen),
        other => other?,
    }
    // Another process may have replaced the file between the last look and the move.
    let arrived = to.look(new, MAX_FILE);
    if arrived.is_ok_and(|arrived| arrived.is_some_and(|(arrived, _)| arrived.is_same(seen))) {
        return Ok(());
    }
    let Err(error) = to.rename(new, from, name) else { return Err(changed()) };
    if error.kind() != io::ErrorKind::AlreadyExists {
        return Err(error);
    }
    // The name is already taken again. The file goes back beside it: it is not ours to keep.
    let beside = OsString::from(format!("windlass-{}-{}", new.to_string_lossy(), name.to_string_lossy()));
    to.rename(new, from, &beside)?;
    Err(io::Error::other(format!("it was changed while it was moved, and is called {} now", beside.to_string_lossy())))
}

/// Whether an error concerns this name alone, and the others can still be moved. A permission error comes from a file
/// that can't be changed, or from its directory: in the directory of backups, earlier operations were permitted.
pub fn is_about_one(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::Other
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ResourceBusy
    )
}

fn changed() -> io::Error {
    io::Error::other("it changed in the meantime")
}

fn copy(from: &Directory, name: &OsStr, to: &Directory, new: &OsStr, seen: &Seen) -> io::Result<()> {
    let Some(held) = from.hold(name, MAX_FILE)?.filter(|held| held.seen.is_same(seen)) else {
        return Err(changed());
    };
    let part = temporary(new);
    to.remove_if_there(&part)?;
    let copied = copy_to(&held, to, &part).and_then(|()| to.rename(&part, to, new));
    if let Err(error) = copied {
        // A full disk leaves nothing behind; the leftovers of a kill are removed by the next undo.
        let _ = to.remove_if_there(&part);
        return Err(error);
    }
    to.synchronise()?;
    let arrived = to.look(new, MAX_FILE)?.is_some_and(|(arrived, _)| arrived.is_same(seen));
    let is_still =
        from.look(name, MAX_FILE).is_ok_and(|still| still.is_some_and(|(still, _)| still.is_untouched(&held.seen)));
    if !arrived || !is_still {
        to.remove(new)?;
        return Err(changed());
    }
    from.remove(name)
}

fn copy_to(held: &Held, to: &Directory, part: &OsStr) -> io::Result<()> {
    let seen = &held.seen;
    let times = Timestamps { last_access: time(seen.atime), last_modification: time(seen.mtime) };
    // Only root can give files away; other users own them anyway.
    let (owner, group) = (Uid::from_raw(seen.uid), Gid::from_raw(seen.gid));
    if let Some(target) = &seen.target {
        to.link(target, part)?;
        rustix::fs::chownat(&to.fd, part, Some(owner), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
        return Ok(rustix::fs::utimensat(&to.fd, part, &times, AtFlags::SYMLINK_NOFOLLOW)?);
    }
    let mut file = to.create(part)?;
    file.write_all(&held.bytes)?;
    rustix::fs::fchown(&file, Some(owner), Some(group))?;
    rustix::fs::fchmod(&file, Mode::from_raw_mode(seen.mode))?;
    if let Some(from) = &held.file {
        copy_extended(from, &file, is_copied);
    }
    rustix::fs::futimens(&file, &times)?;
    file.sync_all()
}

fn time((seconds, nanoseconds): (i64, i64)) -> Timespec {
    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_fallible_conversions,
        reason = "the types differ between machines"
    )]
    Timespec { tv_sec: seconds, tv_nsec: nanoseconds.try_into().unwrap_or_default() }
}

/// Whether an extended attribute is copied. Attributes that only root may set grant privileges, and are not copied: the
/// owner of the file could have taken it from elsewhere.
pub fn is_copied(name: &[u8]) -> bool {
    name != b"security.capability" && !name.starts_with(b"trusted.")
}
