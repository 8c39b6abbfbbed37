//! Several threads, and a forked process.

use std::thread;

use super::*;
use crate::error::Unsupported;

const THREADS: u64 = 64;

/// Lets the loading thread continue once all others wait for it.
fn until_others_wait(bench: &Bench) -> impl Fn() + use<> {
    let counts = bench.counts;
    move || {
        while counts.value(Wait) < THREADS - 1 {
            thread::yield_now();
        }
    }
}

fn load_in_all_threads(bench: &Bench, path: &Path) -> Vec<Result<Arc<RootStore>, LoadError>> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| bench.load(path))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

#[test]
fn many_threads_and_one_load() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("ca.pem", &certificate(0));
    let wait = until_others_wait(&bench);
    bench.on_open(move |_| wait());
    let stores: Vec<_> = load_in_all_threads(&bench, &path).into_iter().map(Result::unwrap).collect();
    assert_eq!(stores.len() as u64, THREADS);
    assert!(stores.iter().all(|store| Arc::ptr_eq(store, &stores[0])));
    assert_eq!(bench.counts(), [1, THREADS - 1, 0, THREADS - 1]);
}

#[test]
fn a_failed_load_fails_for_all_who_waited_for_it() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("ca.pem", b"nothing");
    let wait = until_others_wait(&bench);
    bench.on_open(move |_| wait());
    let what = Unsupported::NoCertificate;
    let error = LoadError::Unsupported { path: path.clone(), what };
    let results = load_in_all_threads(&bench, &path);
    assert_eq!(results.len() as u64, THREADS);
    assert!(results.into_iter().all(|result| result.unwrap_err() == error));
    write_in_place(&path, &certificate(0));
    bench.expect(&path, &[0]);
}

#[test]
fn a_panic_wakes_all_who_waited() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("ca.pem", &certificate(0));
    let wait = until_others_wait(&bench);
    bench.on_open(move |_| {
        wait();
        panic!("on purpose");
    });
    let results = load_in_all_threads(&bench, &path);
    assert_eq!(results.len() as u64, THREADS - 1);
    let error = LoadError::Interrupted { path: path.clone() };
    assert!(results.into_iter().all(|result| result.unwrap_err() == error));
    bench.on_open(|_| {});
    bench.expect(&path, &[0]);
}

/// The file changes after the loading thread has read it and before the waiting threads check it.
#[test]
fn those_who_waited_look_themselves() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("ca.pem", &certificate(0));
    let slot = bench.cache.slot(SourceRef::Cafile(&path)).unwrap();
    let Turn::Load(loader) = slot.turn(|_| false) else { panic!("nobody else loads") };
    let entry = bench.cache.read_now(SourceRef::Cafile(&path), None, None).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| bench.load(&path));
        while bench.counts.value(Wait) == 0 {
            thread::yield_now();
        }
        write_in_place(&path, &certificate(1));
        loader.finish(Ok(entry));
        assert_holds(&waiting.join().unwrap().unwrap(), &[1]);
    });
}

#[test]
fn other_sources_are_not_held_up() {
    let bench = Arc::new(Bench::new(MaxAge::Forever));
    let slow = bench.write("slow.pem", &certificate(0));
    let quick = bench.write("quick.pem", &certificate(1));
    let (inner, reached) = (Arc::downgrade(&bench), Arc::new(AtomicBool::new(false)));
    let (slow_path, seen) = (slow.clone(), Arc::clone(&reached));
    bench.on_open(move |path| {
        if path == slow_path {
            inner.upgrade().unwrap().expect(&quick, &[1]);
            seen.store(true, Ordering::SeqCst);
        }
    });
    bench.expect(&slow, &[0]);
    assert!(reached.load(Ordering::SeqCst));
}

#[test]
fn a_child_takes_over_what_is_finished() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("ca.pem", &certificate(0));
    let busy = bench.write("busy.pem", &certificate(1));
    let store = bench.expect(&path, &[0]);
    bench.expect(&busy, &[1]);
    write_in_place(&busy, &certificate(2));

    let slot = bench.cache.slot(SourceRef::Cafile(&busy)).unwrap();
    let Turn::Load(loader) = slot.turn(|_| false) else { panic!("nobody else loads") };
    let lock = slot.hold();
    let child = bench.cache.fork();
    drop(lock);
    assert!(Arc::ptr_eq(&child.load_cafile(&path).unwrap(), &store));
    // The parent's load never ends for the child, which loads for itself.
    assert_holds(&child.load_cafile(&busy).unwrap(), &[2]);
    assert_eq!(bench.counts(), [3, 1, 0, 0]);
    drop(loader);
}

#[test]
fn a_child_takes_over_the_last_load_of_a_source_that_is_being_loaded() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("ca.pem", &certificate(0));
    let store = bench.expect(&path, &[0]);
    let slot = bench.cache.slot(SourceRef::Cafile(&path)).unwrap();
    let Turn::Load(loader) = slot.turn(|_| false) else { panic!("nobody else loads") };
    let child = bench.cache.fork();
    assert!(Arc::ptr_eq(&child.load_cafile(&path).unwrap(), &store));
    drop(loader);
}

#[test]
fn a_child_starts_empty_rather_than_wait() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("ca.pem", &certificate(0));
    bench.expect(&path, &[0]);
    let lock = bench.cache.slots.write().unwrap();
    let child = bench.cache.fork();
    drop(lock);
    assert_holds(&child.load_cafile(&path).unwrap(), &[0]);
    assert_eq!(bench.counts(), [2, 0, 0, 0]);
}

#[test]
fn files_change_under_many_threads() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("ca.pem", &certificate(0));
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut loads = 0;
                    while !end.load(Ordering::SeqCst) {
                        match bench.load(&path) {
                            Ok(store) => {
                                let n = store.len();
                                assert_holds(&store, &[0, 1, 2, 3][..n]);
                                loads += 1;
                            }
                            Err(error) => {
                                assert!(["missing", "changed-while-reading"].contains(&error.label()), "{error}")
                            }
                        }
                    }
                    loads
                })
            })
            .collect();
        // Also when something below fails: the readers would go on for ever.
        let ending = Ending(&end);
        for n in 0..60 {
            let content: Vec<u8> = (0..=n % 4).flat_map(certificate).collect();
            match n % 3 {
                0 => drop(fs::remove_file(&path)),
                _ => {
                    let new = bench.write("new.pem", &content);
                    fs::rename(new, &path).unwrap();
                }
            }
            thread::yield_now();
        }
        fs::rename(bench.write("new.pem", &certificate(0)), &path).unwrap();
        // The last state is what is served in the end.
        bench.expect(&path, &[0]);
        drop(ending);
        assert!(readers.into_iter().map(|reader| reader.join().unwrap()).sum::<u64>() > 0);
    });
}

/// Sets the flag that ends other threads.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
