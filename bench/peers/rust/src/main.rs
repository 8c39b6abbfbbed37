//! `peers-rust native-certs|webpki-roots|platform-verifier`: rustls. What it prints: bench/peers/README.md.

use std::sync::Arc;
use std::{env, fs, hint, process};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, RootCertStore};

/// What a client keeps. The configuration has the same verifier, but doesn't hand it out.
struct Context {
    _config: ClientConfig,
    verifier: Arc<dyn ServerCertVerifier>,
}

struct Peer {
    kind: String,
    provider: Arc<CryptoProvider>,
    root: CertificateDer<'static>,
    leaf: CertificateDer<'static>,
}

impl Peer {
    fn make(&self) -> Context {
        let verifier: Arc<dyn ServerCertVerifier> = match self.kind.as_str() {
            "native-certs" => {
                let mut roots = RootCertStore::empty();
                let (added, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                assert!(added > 100, "only {added} roots");
                self.verifier(roots)
            }
            "webpki-roots" => {
                let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
                roots.add(self.root.clone()).expect("the test's own root");
                self.verifier(roots)
            }
            "platform-verifier" => {
                Arc::new(rustls_platform_verifier::Verifier::new(self.provider.clone()).expect("a platform verifier"))
            }
            other => panic!("no such peer: {other}"),
        };
        let config = ClientConfig::builder_with_provider(self.provider.clone())
            .with_safe_default_protocol_versions()
            .expect("protocol versions")
            .dangerous()
            .with_custom_certificate_verifier(verifier.clone())
            .with_no_client_auth();
        Context { _config: config, verifier }
    }

    fn verifier(&self, roots: RootCertStore) -> Arc<WebPkiServerVerifier> {
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), self.provider.clone()).build().expect("a verifier")
    }

    fn verify(&self, context: &Context) {
        let name = ServerName::try_from("localhost").expect("a name");
        context.verifier.verify_server_cert(&self.leaf, &[], &name, &[], UnixTime::now()).expect("a trusted leaf");
    }
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let [_, kind, mode, count, root, leaf] = arguments.as_slice() else { panic!("usage: KIND MODE N ROOT LEAF") };
    let read = |path| CertificateDer::from_pem_file(path).expect("a certificate");
    let provider = Arc::new(ring::default_provider());
    let peer = Peer { kind: kind.clone(), provider, root: read(root), leaf: read(leaf) };
    let count: u32 = count.parse().expect("N");
    match mode.as_str() {
        "time" => {
            let first = cpu(1, || drop(hint::black_box(peer.make())));
            let next = cpu(count, || drop(hint::black_box(peer.make())));
            let verified = cpu(count, || peer.verify(&peer.make()));
            println!("{{\"first\": {first}, \"next\": {next}, \"verified\": {verified}}}");
        }
        "count" => (0..count).for_each(|_| drop(hint::black_box(peer.make()))),
        "keep" => {
            let make = || {
                let made = peer.make();
                peer.verify(&made);
                made
            };
            let _first = make();
            let before = resident_kib();
            let kept: Vec<Context> = (0..count).map(|_| make()).collect();
            println!("{{\"kib\": {}}}", (resident_kib() - before) / f64::from(count));
            drop(kept);
        }
        _ => process::exit(2),
    }
}

/// Milliseconds of processor time, user and system, that each turn takes.
fn cpu(turns: u32, mut turn: impl FnMut()) -> f64 {
    let before = cpu_ms();
    (0..turns).for_each(|_| turn());
    (cpu_ms() - before) / f64::from(turns)
}

/// Of all threads.
fn cpu_ms() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

fn resident_kib() -> f64 {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").expect("/proc/self/smaps_rollup");
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:")).expect("Rss");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
