//! Prints how many nanoseconds it takes a new cache to serve a PEM file: from its compiled store, and without one, in
//! turn. The compiled store is made in a temporary directory.
//!
//! `cargo run --release -p windlass --example warm_start -- /etc/ssl/certs/ca-certificates.crt 20`

use std::path::PathBuf;
use std::time::Instant;

use windlass::compiled::{self, Directories, Overwrite};
use windlass::{Config, Source, TrustCache};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let path = PathBuf::from(arguments.next().ok_or("usage: warm_start FILE [REPETITIONS]")?);
    let repetitions = arguments.next().and_then(|n| n.to_str()?.parse().ok()).unwrap_or(1);
    let directory = std::env::temp_dir().join(format!("windlass-warm-start-{}", std::process::id()));
    let image = compiled::compile(&Source::Cafile(path.clone()), None, None)?;
    compiled::write(&directory, &image, Overwrite::Forced)?;
    for _ in 0..repetitions {
        for stores in [Directories::only(directory.clone()), Directories::none()] {
            let start = Instant::now();
            let cache = TrustCache::new(Config { stores, ..Config::default() }, None);
            let store = cache.load_cafile(&path)?;
            print!("{} ", start.elapsed().as_nanos());
            assert_eq!(store.len(), image.store().len());
        }
        println!();
    }
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}
