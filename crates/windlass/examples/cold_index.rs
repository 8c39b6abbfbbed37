//! Prints how many nanoseconds it takes to index a PEM file, once for each repetition: the first is the cold one.
//!
//! `cargo run --release -p windlass --example cold_index -- /etc/ssl/certs/ca-certificates.crt 20`

use std::process::ExitCode;
use std::time::Instant;

use windlass::RootStore;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(path), repetitions) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: cold_index FILE [REPETITIONS]");
        return ExitCode::from(2);
    };
    let repetitions = repetitions.and_then(|n| n.to_str()?.parse().ok()).unwrap_or(1);
    let pem = match std::fs::read(&path) {
        Ok(pem) => pem,
        Err(error) => {
            eprintln!("cannot read {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    };
    for _ in 0..repetitions {
        let start = Instant::now();
        let store = RootStore::from_pem(&pem);
        let elapsed = start.elapsed();
        if let Err(error) = store {
            eprintln!("{}: {error}", path.display());
            return ExitCode::FAILURE;
        }
        println!("{}", elapsed.as_nanos());
    }
    ExitCode::SUCCESS
}
