//! OpenSSL 1.1.1, 3.x and 4.x, found at run time.
//!
//! | module | concern |
//! | --- | --- |
//! | `api` | the functions that are used and hooked |
//! | `library` | which libcrypto and which libssl a caller means |
//! | `subject` | what is loaded into, and what it holds |
//! | `context`, `store`, `lookup`, `names` | functions that load |
//! | `methods` | whether a lookup is one of OpenSSL's own |
//! | `lifetime`, `session` | what is added to a store, its end; verifications and handshakes |

pub mod api;
pub mod context;
pub mod library;
pub mod lifetime;
pub mod lookup;
pub mod methods;
pub mod names;
pub mod session;
pub mod store;
pub mod subject;

hooks! {
    1 SSL_CTX_set_default_verify_paths => context::set_default_verify_paths;
    1 SSL_CTX_set_default_verify_file => context::set_default_verify_file;
    1 SSL_CTX_set_default_verify_dir => context::set_default_verify_dir;
    1 SSL_CTX_set_default_verify_store => context::set_default_verify_store;
    3 SSL_CTX_load_verify_locations => context::load_verify_locations;
    2 SSL_CTX_load_verify_file => context::load_verify_file;
    2 SSL_CTX_load_verify_dir => context::load_verify_dir;
    2 SSL_CTX_load_verify_store => context::load_verify_store;

    1 X509_STORE_set_default_paths => store::set_default_paths;
    3 X509_STORE_set_default_paths_ex => store::set_default_paths_ex;
    2 X509_STORE_load_file => store::load_file;
    4 X509_STORE_load_file_ex => store::load_file_ex;
    2 X509_STORE_load_path => store::load_path;
    2 X509_STORE_load_store => store::load_store;
    4 X509_STORE_load_store_ex => store::load_store_ex;
    3 X509_STORE_load_locations => store::load_locations;
    5 X509_STORE_load_locations_ex => store::load_locations_ex;

    2 X509_STORE_add_lookup => methods::add_lookup;
    1 X509_LOOKUP_new => methods::new_lookup;
    5 X509_LOOKUP_ctrl => lookup::ctrl;
    7 X509_LOOKUP_ctrl_ex => lookup::ctrl_ex;
    3 X509_load_cert_file => lookup::load_cert_file;
    5 X509_load_cert_file_ex => lookup::load_cert_file_ex;
    3 X509_load_cert_crl_file => lookup::load_cert_crl_file;
    5 X509_load_cert_crl_file_ex => lookup::load_cert_crl_file_ex;

    1 SSL_load_client_CA_file => names::load_client_ca_file;
    3 SSL_load_client_CA_file_ex => names::load_client_ca_file_ex;
    2 SSL_add_file_cert_subjects_to_stack => names::add_file_cert_subjects;
    2 SSL_add_dir_cert_subjects_to_stack => names::add_dir_cert_subjects;
    2 SSL_add_store_cert_subjects_to_stack => names::add_store_cert_subjects;

    2 X509_STORE_add_cert => lifetime::add_cert;
    1 X509_STORE_up_ref => lifetime::up_ref;
    1 X509_STORE_free => lifetime::free;

    1 X509_verify_cert => session::verify_cert;
    1 SSL_do_handshake => session::do_handshake;
    1 SSL_connect => session::connect;
    1 SSL_accept => session::accept;
    1 SSL_free => session::free;
}
