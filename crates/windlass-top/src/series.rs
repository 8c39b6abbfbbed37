//! Counts by container, TLS library, and whether Windlass serves it: what `--metrics` shows.
//!
//! A count goes into a series once and stays there, so that no counter ever falls. Series of ended containers are
//! dropped as a whole. Their counts go nowhere else: that would make another counter rise without an open.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use windlass_machine::processes::{Container, Linkage, ProcessFacts, Served, Unseen};

use super::snapshot::reason;
use super::tally::Open;
use super::who::Who;

/// The most series of containers. Beyond that, and beyond the shares below, what a container opens is counted under
/// `other`. The series of `other` and of the host are as many as there are libraries and reasons.
pub const SETS: usize = 2048;
/// The share of a pod, or of a container outside of pods. A container can have a program for each library and reason.
const OF_ONE: usize = 64;
/// The share of all containers below `user.slice`, where users make groups of any name.
const OF_USERS: usize = SETS / 4;

/// Where processes run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Outside of containers, or not known.
    Host,
    /// In this container.
    In(Container),
    /// In one of the containers beyond the limits.
    Other,
}

/// What distinguishes a series from all others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Labels {
    /// Where the processes run.
    pub place: Place,
    /// The kind of their TLS library.
    pub library: String,
    /// How it got into them.
    pub linkage: &'static str,
    /// Whether Windlass serves them.
    pub served: &'static str,
    /// Why not, or why that is not known.
    pub reason: String,
}

/// The counts of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// Processes that opened a source.
    pub processes: u64,
    /// Files opened.
    pub opens: u64,
    /// Directories opened.
    pub listings: u64,
    /// The sizes of the opened files.
    pub bytes: u64,
    /// Closes of which the open was seen.
    pub closes: u64,
    /// The time between these opens and closes.
    pub held: Duration,
    /// The processes that are still there.
    pub running: u64,
}

/// All series.
#[derive(Clone, Debug, Default)]
pub struct Series {
    sets: BTreeMap<Labels, Values>,
    /// When each container that has a series was last seen, from the start of the watch.
    containers: HashMap<Container, Duration>,
}

impl Labels {
    /// The series in which a process counts.
    pub fn new(who: &Who, container: &Container, facts: Option<&ProcessFacts>, unread: bool) -> Labels {
        let place = if container.is_some() { Place::In(container.clone()) } else { Place::Host };
        let library = facts.and_then(|facts| facts.libraries.first());
        let gone = Served::Unknown(if unread { Unseen::Unread } else { Unseen::Gone });
        let served = facts.map_or(&gone, |facts| &facts.windlass);
        Labels {
            place,
            library: match (library, facts) {
                (Some(library), _) => kebab(library.kind),
                (None, Some(_)) => "none".to_owned(),
                (None, None) => "unknown".to_owned(),
            },
            linkage: match library.map(|library| library.linkage) {
                Some(Linkage::Dynamic) => "dynamic",
                Some(Linkage::Static) => "static",
                None => "",
            },
            served: match served {
                Served::Loaded => "yes",
                Served::No(_) => "no",
                Served::Unknown(_) => "unknown",
            },
            reason: match who {
                Who::Outside => "outside-pid-namespace".to_owned(),
                _ => reason(served).unwrap_or_default(),
            },
        }
    }
}

fn kebab(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

impl Values {
    /// Counts an open.
    pub fn count(&mut self, open: Open) {
        match open.size {
            Some(size) => {
                self.opens += 1;
                self.bytes = self.bytes.saturating_add(size);
            }
            None => self.listings += 1,
        }
    }

    /// Adds the counts of another series.
    pub fn add(&mut self, other: Values) {
        self.processes += other.processes;
        self.opens += other.opens;
        self.listings += other.listings;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.closes += other.closes;
        self.held = self.held.saturating_add(other.held);
    }
}

impl Series {
    /// All series, sorted.
    pub fn all(&self) -> impl Iterator<Item = (&Labels, &Values)> {
        self.sets.iter()
    }

    /// The containers that have a series.
    pub fn containers(&self) -> impl Iterator<Item = &Container> {
        self.containers.keys()
    }

    /// Adds counts to a series.
    pub fn add(&mut self, labels: Labels, values: Values, now: Duration) {
        let set = self.set(labels, now);
        set.add(values);
    }

    /// Takes over what a look at all processes has found: the containers that are there, and the series of the
    /// processes that still run. Drops the series of containers that were not seen for the time `keep`.
    pub fn update(&mut self, alive: &HashSet<Container>, running: Vec<Labels>, now: Duration, keep: Duration) {
        for (container, seen) in &mut self.containers {
            if alive.contains(container) {
                *seen = now;
            }
        }
        self.containers.retain(|_, seen| now.saturating_sub(*seen) <= keep);
        let containers = &self.containers;
        self.sets.retain(|labels, _| match &labels.place {
            Place::In(container) => containers.contains_key(container),
            Place::Host | Place::Other => true,
        });
        self.sets.values_mut().for_each(|values| values.running = 0);
        for labels in running {
            self.set(labels, now).running += 1;
        }
    }

    fn set(&mut self, mut labels: Labels, now: Duration) -> &mut Values {
        if let Place::In(container) = &labels.place {
            match self.sets.contains_key(&labels) || self.has_room(container) {
                true => drop(self.containers.insert(container.clone(), now)),
                false => labels.place = Place::Other,
            }
        }
        self.sets.entry(labels).or_default()
    }

    fn has_room(&self, new: &Container) -> bool {
        let is_one = |other: &Container| match &new.pod {
            Some(pod) => other.pod.as_ref() == Some(pod),
            None => other == new,
        };
        let (mut all, mut of_one, mut of_users) = (0, 0, 0);
        for (labels, _) in self.all() {
            let Place::In(container) = &labels.place else { continue };
            all += 1;
            of_one += usize::from(is_one(container));
            of_users += usize::from(container.is_of_user);
        }
        all < SETS && of_one < OF_ONE && !(new.is_of_user && of_users >= OF_USERS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(pod: Option<u32>, id: u32) -> Container {
        Container { pod: pod.map(|pod| pod.to_string()), id: Some(id.to_string()), is_of_user: false }
    }

    fn labels(container: &Container, reason: u32) -> Labels {
        let who = Who::TooSoon;
        Labels { reason: reason.to_string(), ..Labels::new(&who, container, None, false) }
    }

    const ONE: Values =
        Values { processes: 1, opens: 1, listings: 0, bytes: 5, closes: 1, held: Duration::from_secs(1), running: 0 };
    const KEEP: Duration = Duration::from_secs(300);

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn sum(series: &Series, is_it: impl Fn(&Place) -> bool) -> (usize, u64) {
        let found: Vec<_> = series.all().filter(|(labels, _)| is_it(&labels.place)).collect();
        (found.len(), found.iter().map(|(_, values)| values.opens).sum())
    }

    #[test]
    fn what_is_beyond_the_limit_is_counted_under_other() {
        let mut series = Series::default();
        for id in 0..10_000 {
            series.add(labels(&container(Some(id / 2), id), 0), ONE, at(0));
        }
        assert_eq!(sum(&series, |place| matches!(place, Place::In(_))), (SETS, SETS as u64));
        assert_eq!(sum(&series, |place| *place == Place::Other), (1, 10_000 - SETS as u64));
        // Those that have a series keep it.
        series.add(labels(&container(Some(0), 0), 0), ONE, at(0));
        assert_eq!(sum(&series, |place| matches!(place, Place::In(_))), (SETS, SETS as u64 + 1));
        // The host takes no room, and loses none.
        series.add(labels(&Container::default(), 0), ONE, at(0));
        assert_eq!(sum(&series, |place| *place == Place::Host), (1, 1));
    }

    #[test]
    fn nobody_uses_up_the_room_of_others() {
        let mut series = Series::default();
        for id in 0..1000 {
            series.add(labels(&container(Some(1), id), 0), ONE, at(0));
            series.add(labels(&container(None, 5000), id), ONE, at(0));
            let own = Container { is_of_user: true, ..container(None, 10_000 + id) };
            series.add(labels(&own, 0), ONE, at(0));
        }
        let of = |is_it: fn(&Container) -> bool| sum(&series, |place| matches!(place, Place::In(one) if is_it(one))).0;
        assert_eq!(of(|container| container.pod.is_some()), OF_ONE);
        assert_eq!(of(|container| container.id.as_deref() == Some("5000")), OF_ONE);
        assert_eq!(of(|container| container.is_of_user), OF_USERS);
        assert_eq!(sum(&series, |_| true).1, 3000);
    }

    #[test]
    fn series_of_ended_containers_are_dropped_and_go_nowhere() {
        let mut series = Series::default();
        let (ended, stays) = (container(Some(1), 1), container(Some(1), 2));
        series.add(labels(&ended, 0), ONE, at(0));
        series.add(labels(&stays, 0), ONE, at(0));
        series.add(labels(&Container::default(), 0), ONE, at(0));
        let alive = HashSet::from([stays.clone()]);
        series.update(&alive, vec![labels(&stays, 0)], at(300), KEEP);
        assert_eq!(sum(&series, |_| true), (3, 3), "not before the time is over");
        series.update(&alive, vec![labels(&stays, 0)], at(301), KEEP);
        assert_eq!(sum(&series, |_| true), (2, 2));
        let running: Vec<_> = series.all().map(|(labels, values)| (labels.place.clone(), values.running)).collect();
        assert_eq!(running, [(Place::Host, 0), (Place::In(stays), 1)]);
        // The same name again is a new series, which begins at zero.
        series.add(labels(&ended, 0), ONE, at(302));
        assert_eq!(sum(&series, |place| *place == Place::In(ended.clone())), (1, 1));
    }
}
