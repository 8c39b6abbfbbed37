//! Verifications and searches that a private list answers.
//!
//! libgnutls works with the private list inside them; that list is not watched.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use crate::gnutls::api::{Certificate, GET_COPY, INTERNAL_ERROR, List, OcspResponse, RESPONDER_NAME, VerifyOutput};
use crate::gnutls::fill::{self, Private};
use crate::gnutls::libgnutls::{Served, original};
use crate::gnutls::list::{ListState, tracked};
use crate::hook::{self, Caller, Inside, Uncancelled, shielded};

/// `gnutls_x509_trust_list_verify_crt`.
pub extern "C-unwind" fn verify_crt(
    list: *mut List,
    chain: *mut *mut Certificate,
    length: c_uint,
    flags: c_uint,
    output: *mut c_uint,
    callback: Option<VerifyOutput>,
    caller: Caller,
) -> c_int {
    let state = tracked(list);
    // SAFETY: the program passes its chain.
    let stand_in = StandIn::new(state, |served| unsafe { names_in_chain(served, chain, length, callback) });
    let list = stand_in.as_ref().map_or(list, StandIn::list);
    original!(
        state.map(|state| state.library),
        caller,
        gnutls_x509_trust_list_verify_crt(list, chain, length, flags, output, callback),
        or INTERNAL_ERROR
    )
}

/// `gnutls_x509_trust_list_verify_crt2`.
#[allow(clippy::too_many_arguments)] // as many as the foreign function has
pub extern "C-unwind" fn verify_crt2(
    list: *mut List,
    chain: *mut *mut Certificate,
    length: c_uint,
    data: *mut c_void,
    elements: c_uint,
    flags: c_uint,
    output: *mut c_uint,
    callback: Option<VerifyOutput>,
    caller: Caller,
) -> c_int {
    let state = tracked(list);
    // SAFETY: the program passes its chain.
    let stand_in = StandIn::new(state, |served| unsafe { names_in_chain(served, chain, length, callback) });
    let list = stand_in.as_ref().map_or(list, StandIn::list);
    original!(
        state.map(|state| state.library),
        caller,
        gnutls_x509_trust_list_verify_crt2(list, chain, length, data, elements, flags, output, callback),
        or INTERNAL_ERROR
    )
}

/// `gnutls_x509_trust_list_get_issuer`. Without `GNUTLS_TL_GET_COPY` the result is a certificate of the list itself.
pub extern "C-unwind" fn get_issuer(
    list: *mut List,
    certificate: *mut Certificate,
    issuer: *mut *mut Certificate,
    flags: c_uint,
    caller: Caller,
) -> c_int {
    let state = tracked(list);
    let stand_in = StandIn::new(state, |served| {
        // SAFETY: the program passes its certificate.
        let names = if flags & GET_COPY == 0 { None } else { unsafe { fill::names_of(served, certificate) } };
        Some(Vec::from(names?))
    });
    let list = stand_in.as_ref().map_or(list, StandIn::list);
    original!(
        state.map(|state| state.library),
        caller,
        gnutls_x509_trust_list_get_issuer(list, certificate, issuer, flags),
        or INTERNAL_ERROR
    )
}

/// `gnutls_ocsp_resp_verify`: it looks for the responder by name, and verifies a certificate of the response.
pub extern "C-unwind" fn ocsp_verify(
    response: *const OcspResponse,
    list: *mut List,
    output: *mut c_uint,
    flags: c_uint,
    caller: Caller,
) -> c_int {
    let state = tracked(list);
    // SAFETY: the program passes its response.
    let stand_in = StandIn::new(state, |served| unsafe { names_in_response(served, response) });
    let list = stand_in.as_ref().map_or(list, StandIn::list);
    original!(
        state.map(|state| state.library),
        caller,
        gnutls_ocsp_resp_verify(response, list, output, flags),
        or INTERNAL_ERROR
    )
}

/// A private list with more buckets than this costs more than it saves.
const LARGE: c_uint = 4096;

/// A private list that replaces a lazy one for the length of one call.
struct StandIn {
    private: Private,
    _inside: Inside,
    /// Without this, a thread cancelled meanwhile would leak the list.
    _uncancelled: Uncancelled,
}

impl StandIn {
    /// Prepares a search for these names. `None`: use the list itself; it is complete, or has nothing to complete.
    fn new(state: Option<&ListState>, names: impl FnOnce(&Served) -> Option<Vec<Vec<u8>>>) -> Option<StandIn> {
        if let Some(partly) = state.filter(|state| state.is_partly()) {
            fill::complete(partly);
        }
        let state = state.filter(|state| state.has_pending())?;
        let is_small = state.size <= LARGE;
        let private = shielded(|| if is_small { Private::new(state, &names(state.served)?) } else { None });
        let Some(private) = private else {
            fill::complete(state);
            return None;
        };
        Some(StandIn { private, _inside: hook::inside(), _uncancelled: hook::uncancelled() })
    }

    fn list(&self) -> *mut List {
        self.private.list
    }
}

/// Subjects and issuers of a chain. `None` with a callback, because it may keep the issuers that it is shown.
///
/// # Safety
/// `length` certificates of this libgnutls, as its functions expect them.
unsafe fn names_in_chain(
    served: &Served,
    chain: *mut *mut Certificate,
    length: c_uint,
    callback: Option<VerifyOutput>,
) -> Option<Vec<Vec<u8>>> {
    if callback.is_some() || chain.is_null() {
        return None;
    }
    // SAFETY: as the caller states.
    let chain = unsafe { std::slice::from_raw_parts(chain, length as usize) };
    // SAFETY: as the caller states.
    unsafe { names_of_all(served, chain) }
}

/// The responder's name, and the subjects and issuers of a response's certificates.
///
/// # Safety
/// A response of this libgnutls, or null.
unsafe fn names_in_response(served: &Served, response: *const OcspResponse) -> Option<Vec<Vec<u8>>> {
    if response.is_null() {
        return None;
    }
    let api = &served.api;
    let (mut certificates, mut length) = (ptr::null_mut(), 0);
    // SAFETY: as the caller states; places for the results.
    if unsafe { (api.gnutls_ocsp_resp_get_certs)(response, &mut certificates, &mut length) } < 0 {
        return None;
    }
    // SAFETY: libgnutls has made an array of that length, which we now own with all its contents.
    let names = unsafe {
        let all = std::slice::from_raw_parts(certificates, length);
        let names = names_of_all(served, all);
        all.iter().for_each(|&certificate| (api.gnutls_x509_crt_deinit)(certificate));
        served.free(certificates.cast());
        names
    };
    let mut names = names?;
    names.try_reserve(1).ok()?;
    // A responder may be named by its key: then no subject is looked up. SAFETY: as the caller states.
    names.extend(unsafe {
        fill::bytes(served, |datum| (api.gnutls_ocsp_resp_get_responder_raw_id)(response, RESPONDER_NAME, datum))
    });
    Some(names)
}

/// # Safety
/// Certificates of this libgnutls.
unsafe fn names_of_all(served: &Served, certificates: &[*mut Certificate]) -> Option<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    names.try_reserve_exact(certificates.len() * 2).ok()?;
    for &certificate in certificates {
        // SAFETY: as the caller states.
        names.extend(unsafe { fill::names_of(served, certificate) }?);
    }
    Some(names)
}
