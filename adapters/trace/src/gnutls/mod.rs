//! GnuTLS 3, found at run time.
//!
//! | module | concern |
//! | --- | --- |
//! | `api` | the functions that are used and hooked |
//! | `library` | which libgnutls a caller means |
//! | `load` | functions that load, and what they load into |
//! | `session` | verifications, handshakes, and what ends |

pub mod api;
pub mod library;
pub mod load;
pub mod session;

hooks! {
    1 gnutls_certificate_set_x509_system_trust => load::set_system_trust;
    3 gnutls_certificate_set_x509_trust_file => load::set_trust_file;
    3 gnutls_certificate_set_x509_trust_dir => load::set_trust_dir;
    3 gnutls_certificate_set_x509_trust_mem => load::set_trust_mem;
    3 gnutls_certificate_set_x509_trust => load::set_trust;

    3 gnutls_x509_trust_list_add_system_trust => load::add_system_trust;
    6 gnutls_x509_trust_list_add_trust_file => load::add_trust_file;
    6 gnutls_x509_trust_list_add_trust_dir => load::add_trust_dir;
    6 gnutls_x509_trust_list_add_trust_mem => load::add_trust_mem;
    4 gnutls_x509_trust_list_add_cas => load::add_cas;

    6 gnutls_x509_trust_list_verify_crt => session::verify_crt;
    8 gnutls_x509_trust_list_verify_crt2 => session::verify_crt2;
    7 gnutls_x509_trust_list_verify_named_crt => session::verify_named_crt;
    1 gnutls_handshake => session::handshake;
    1 gnutls_deinit => session::deinit;
    2 gnutls_x509_trust_list_deinit => session::list_deinit;
    1 gnutls_certificate_free_credentials => session::free_credentials;
    1 gnutls_global_set_log_level => session::set_log_level;
}
