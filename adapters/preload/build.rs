//! How the library is linked.

fn main() {
    windlass_glibc::resident_cdylib();
    // Its constructor runs before all others, so that no constructor makes a store that is not seen; and it is never
    // unloaded, as stores that live on have its functions.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,initfirst,-z,nodelete");
}
