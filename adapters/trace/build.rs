//! Linker options of the library.

fn main() {
    windlass_glibc::cdylib();
    // The library's constructor runs before all others, so that loads by those are seen. It is never unloaded, because
    // programs keep what they found by dlsym. If a process has several libraries with this flag, only the last one
    // comes first; the others run in their ordinary place.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,initfirst,-z,nodelete");
}
