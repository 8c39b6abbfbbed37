//! See `windlass_glibc`.

fn main() {
    windlass_glibc::cdylib();
}
