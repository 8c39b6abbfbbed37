//! OpenSSL 1.1.1, 3.x and 4.x, found at run time.
//!
//! | module | concern |
//! | --- | --- |
//! | `api` | the functions that are used, as each libcrypto defines them |
//! | `library` | which libcrypto a caller means |
//! | `users` | who uses a libcrypto, as far as the dynamic linker knows |
//! | `snapshot` | the parsed certificates of one root store |
//! | `own` | which certificates are one store's alone, and when they have to be |
//! | `model` | the life of one `X509_STORE`: lock, phase, registrations, events; `sync` is what threads share it by |
//! | `objects` | the memory of one `X509_STORE`, as the model sees it |
//! | `contested` | sources that would give a subject certificates of several origins |
//! | `order`, `held` | the order in which an eager load would have left the objects |
//! | `store` | what is known of one `X509_STORE`; a list of those that live |
//! | `serving` | a file that is registered in place of being loaded |
//! | `locks`, `names`, `errors` | the stores that a thread has locked; names; the error queue |
//! | `verification` | the beginning of a verification |
//! | `lookup` | the lookup method that answers when a verification asks |
//! | `capath`, `directory_file`, `directory_search` | hashed directories, their files, and searches in them |
//! | `by_dir` | what libcrypto's own lookup of hashed directories holds |
//! | `default_store` | the third, lazily opened source of OpenSSL 3.0 to 3.3's default paths |
//! | `added` | the certificates of `windlass run --add-ca`, behind a load of the machine's own |
//! | `load_file`, `load_path`, `default_paths`, `lookup_ctrl`, `enumerate`, `handed_out`, `taking_part`, `lifecycle`, `ca_names` | entry points |

pub mod added;
pub mod api;
pub mod by_dir;
pub mod ca_names;
pub mod capath;
pub mod contested;
pub mod default_paths;
pub mod default_store;
pub mod directory_file;
pub mod directory_search;
pub mod enumerate;
pub mod errors;
pub mod handed_out;
pub mod held;
pub mod library;
pub mod lifecycle;
pub mod load_file;
pub mod load_path;
pub mod locks;
pub mod lookup;
pub mod lookup_ctrl;
pub mod model;
pub mod names;
pub mod objects;
pub mod order;
pub mod own;
pub mod remembered;
pub mod serving;
pub mod snapshot;
pub mod store;
pub mod sync;
pub mod taking_part;
pub mod users;
pub mod verification;

hook! {
    0 X509_STORE_new => lifecycle::new;
    2 X509_STORE_add_lookup => lifecycle::add_lookup;
    2 X509_STORE_add_cert => lifecycle::add_cert;
    2 X509_STORE_add_crl => lifecycle::add_crl;
    4 X509_STORE_CTX_init => verification::begin;

    1 X509_STORE_set_default_paths => default_paths::plain;
    3 X509_STORE_set_default_paths_ex => default_paths::extended;

    2 X509_STORE_load_file => load_file::store_load_file;
    4 X509_STORE_load_file_ex => load_file::store_load_file_ex;
    3 X509_load_cert_file => load_file::load_cert_file;
    5 X509_load_cert_file_ex => load_file::load_cert_file_ex;
    3 X509_load_crl_file => lifecycle::load_crl_file;
    3 X509_load_cert_crl_file => load_file::load_cert_crl_file;
    5 X509_load_cert_crl_file_ex => load_file::load_cert_crl_file_ex;

    2 X509_STORE_load_path => load_path::load_path;
    3 X509_STORE_load_locations => load_path::load_locations;
    5 X509_STORE_load_locations_ex => load_path::load_locations_ex;
    2 X509_STORE_load_store => load_path::load_store;
    4 X509_STORE_load_store_ex => load_path::load_store_ex;

    5 X509_LOOKUP_ctrl => lookup_ctrl::plain;
    7 X509_LOOKUP_ctrl_ex => lookup_ctrl::extended;
    4 X509_LOOKUP_by_subject => directory_search::by_subject;
    6 X509_LOOKUP_by_subject_ex => directory_search::by_subject_ex;

    1 X509_STORE_lock => enumerate::lock;
    1 X509_STORE_unlock => enumerate::unlock;
    1 X509_STORE_get0_objects => enumerate::get0_objects;
    1 X509_STORE_get1_objects => enumerate::get1_objects;
    1 X509_STORE_get1_all_certs => enumerate::get1_all_certs;
    2 X509_STORE_CTX_print_verify_cb => enumerate::print_verify_cb;
    2 OSSL_CMP_CTX_set0_trustedStore => enumerate::cmp_set0_trusted_store;

    1 X509_STORE_CTX_get0_chain => handed_out::get0_chain;
    1 X509_STORE_CTX_get1_chain => handed_out::get1_chain;
    2 X509_STORE_CTX_get1_certs => handed_out::get1_certs;
    1 X509_STORE_CTX_get0_cert => handed_out::get0_cert;
    1 X509_STORE_CTX_get_current_cert => handed_out::get_current_cert;
    1 X509_STORE_CTX_get0_current_issuer => handed_out::get0_current_issuer;
    3 X509_STORE_CTX_get1_issuer => handed_out::get1_issuer;
    4 X509_STORE_CTX_get_by_subject => handed_out::get_by_subject;
    3 X509_STORE_CTX_get_obj_by_subject => handed_out::get_obj_by_subject;
    2 X509_STORE_set_verify => taking_part::set_verify;
    2 X509_STORE_set_verify_cb => taking_part::set_verify_cb;
    2 X509_STORE_set_get_issuer => taking_part::set_get_issuer;
    2 X509_STORE_set_check_issued => taking_part::set_check_issued;
    2 X509_STORE_set_check_revocation => taking_part::set_check_revocation;
    2 X509_STORE_set_get_crl => taking_part::set_get_crl;
    2 X509_STORE_set_check_crl => taking_part::set_check_crl;
    2 X509_STORE_set_cert_crl => taking_part::set_cert_crl;
    2 X509_STORE_set_check_policy => taking_part::set_check_policy;
    2 X509_STORE_set_lookup_certs => taking_part::set_lookup_certs;
    2 X509_STORE_set_lookup_crls => taking_part::set_lookup_crls;
    1 X509_STORE_get_get_issuer => taking_part::get_get_issuer;
    1 X509_STORE_get_lookup_certs => taking_part::get_lookup_certs;
    2 X509_STORE_CTX_set_verify => taking_part::of_context_set_verify;
    2 X509_STORE_CTX_set_verify_cb => taking_part::of_context_set_verify_cb;
    2 X509_STORE_CTX_set_get_crl => taking_part::of_context_set_get_crl;
    1 X509_STORE_CTX_get_get_issuer => taking_part::of_context_get_get_issuer;
    1 X509_STORE_CTX_get_lookup_certs => taking_part::of_context_get_lookup_certs;
    6 X509_build_chain => taking_part::build_chain;
    3 OSSL_CMP_CTX_build_cert_chain => taking_part::cmp_build_cert_chain;
    1 SSL_get0_verified_chain => handed_out::ssl_get0_verified_chain;
    3 SSL_get0_dane_authority => handed_out::ssl_get0_dane_authority;

    1 SSL_load_client_CA_file => ca_names::load_client_ca_file;
    3 SSL_load_client_CA_file_ex => ca_names::load_client_ca_file_ex;
    2 SSL_add_file_cert_subjects_to_stack => ca_names::add_file_cert_subjects_to_stack;
    2 SSL_add_dir_cert_subjects_to_stack => ca_names::add_dir_cert_subjects_to_stack;
    4 PEM_read_bio_X509 => ca_names::pem_read_bio_x509;
}
