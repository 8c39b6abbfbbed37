//! Linker options of the library.

fn main() {
    windlass_glibc::resident_cdylib();
    // The library's constructor runs before all others, so that no constructor creates a store unseen. The library is
    // never unloaded, because live stores refer to its functions.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,initfirst,-z,nodelete");
}
