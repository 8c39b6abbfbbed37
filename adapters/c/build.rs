//! See `windlass_glibc`. The file is installed as libwindlass.so.0.1.0 (`make install-c`).

fn main() {
    windlass_glibc::cdylib();
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libwindlass.so.0");
}
