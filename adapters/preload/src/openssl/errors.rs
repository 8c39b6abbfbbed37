//! libcrypto's error queue, which belongs to the program.

use crate::openssl::api::Required;
use crate::openssl::libcrypto::Served;

/// Restores the error queue if libcrypto leaves something there while it works for us.
///
/// 1.1.1 has no counted marks: if we marked an entry that libcrypto has marked itself, clearing our mark would also
/// clear that one. On 1.1.1 nothing is marked; parsing a certificate that libcrypto accepts leaves no error behind.
pub struct Marked<'a>(Option<&'a Required>);

impl<'a> Marked<'a> {
    /// Marks the current end of the queue.
    pub fn new(served: &'a Served) -> Self {
        let api = (!served.is_before_3_0()).then_some(&served.api);
        if let Some(api) = api {
            // SAFETY: no preconditions. With an empty queue no mark is set, and popping to it empties the queue again.
            unsafe { (api.ERR_set_mark)() };
        }
        Marked(api)
    }
}

impl Drop for Marked<'_> {
    fn drop(&mut self) {
        if let Some(api) = self.0 {
            // SAFETY: as above.
            unsafe { (api.ERR_pop_to_mark)() };
        }
    }
}
