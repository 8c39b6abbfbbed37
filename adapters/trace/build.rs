//! How the library is linked.

fn main() {
    windlass_glibc::cdylib();
    // Its constructor runs before all others, so that what those load is seen; and it is never unloaded, as programs
    // keep what they found by dlsym. Of several such libraries in a process only the last one comes first; the others
    // run in their ordinary place.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,initfirst,-z,nodelete");
}
