//! The places to look for in a root directory, within the limits of each owner.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use windlass_machine::places::{self, Place, PlaceKind, Room};
use windlass_machine::regular;

use super::roots::RootDirectory;
use super::users::{HOMES_ELSEWHERE, Users};

/// The most places of one kind in one home. Only a user who wants to blind others has more.
pub const OF_A_KIND: usize = 64;
/// The same in a container, with all its homes, and for places outside homes.
pub const OF_A_KIND_ELSEWHERE: usize = 1024;

/// The owner of a place: None for root, or the user with this home. Another root directory has a single owner.
pub type Owner = Option<usize>;

/// A path to watch.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The path, as programs name it.
    pub path: PathBuf,
    /// The path without links, in its root directory.
    pub real: PathBuf,
    /// The programs that use it, for display.
    pub why: String,
    /// The owner of the place.
    pub owner: Owner,
}

/// All places in a root directory.
#[derive(Clone, Debug, Default)]
pub struct WantedPlaces {
    /// The places, by priority.
    pub list: Vec<Wanted>,
    /// The number of places and homes beyond the limits.
    pub left_out: usize,
}

impl WantedPlaces {
    /// Finds the places. `named` are the paths of the command line.
    pub fn find(root: &RootDirectory, is_own: bool, named: &[PathBuf]) -> WantedPlaces {
        let passwd = || root.find(Path::new("/etc/passwd")).ok().and_then(|found| regular::open(&found.path()).ok());
        let users = if is_own {
            Users::of_this_machine()
        } else {
            passwd().map(|passwd| Users::read(passwd, HOMES_ELSEWHERE)).unwrap_or_default()
        };
        // A `.module` file names the module that p11-kit loads; it holds no trust itself.
        let found = places::search(&root.path, users.homes(), if is_own { Room::EachHome } else { Room::Shared });
        let known = found.places.into_iter().filter(|place| place.kind != PlaceKind::P11KitModule);
        let (known, left_out) = limited(known, users.homes(), is_own);
        let left_out = left_out + found.homes_cut + users.homes_left_out();
        let known = known.into_iter().map(|(place, owner)| {
            let here = place.here(&root.path);
            let real = here.strip_prefix(&root.path).map(|real| Path::new("/").join(real));
            Wanted { real: real.unwrap_or_else(|_| place.path.clone()), path: place.path, why: place.why, owner }
        });
        let owner = (!is_own).then_some(0);
        let named = named.iter().map(|path| {
            let (path, real) = (path.clone(), path.clone());
            Wanted { path, real, why: "--watch".to_owned(), owner }
        });
        WantedPlaces { list: named.chain(known).collect(), left_out }
    }
}

fn limited(all: impl Iterator<Item = Place>, homes: &[PathBuf], is_own: bool) -> (Vec<(Place, Owner)>, usize) {
    let homes: HashMap<&Path, usize> = homes.iter().enumerate().map(|(at, home)| (home.as_path(), at)).collect();
    let mut counts: HashMap<(Owner, PlaceKind), usize> = HashMap::new();
    let mut left_out = 0;
    let mut kept = Vec::new();
    for place in all {
        let of_home = || place.path.ancestors().find_map(|above| homes.get(above).copied());
        let owner = if is_own { of_home() } else { Some(0) };
        let most = if is_own && owner.is_some() { OF_A_KIND } else { OF_A_KIND_ELSEWHERE };
        let count = counts.entry((owner, place.kind)).or_default();
        if *count < most {
            *count += 1;
            kept.push((place, owner));
        } else {
            left_out += 1;
        }
    }
    (kept, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_the_room_of_others() {
        let place = |path: String| Place { path: path.into(), kind: PlaceKind::DotnetStore, why: String::new() };
        let all = (0..1000).map(|at| place(format!("/home/a/.dotnet/{at}")));
        let all = all.chain([place("/home/b/.dotnet/1".into()), place("/usr/x".into())]);
        let (kept, left_out) = limited(all, &["/home/a".into(), "/home/b".into()], true);
        assert_eq!((kept.len(), left_out), (OF_A_KIND + 2, 1000 - OF_A_KIND));
        let owners: Vec<_> = kept.iter().map(|(_, owner)| *owner).skip(OF_A_KIND - 1).collect();
        assert_eq!(owners, [Some(0), Some(1), None]);
    }
}
