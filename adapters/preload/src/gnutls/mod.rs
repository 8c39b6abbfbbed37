//! GnuTLS 3.7 to 3.8, found at run time.
//!
//! | module | concern |
//! | --- | --- |
//! | `hooks` | the list of all hooked functions |
//! | `api` | the functions used, as each libgnutls defines them |
//! | `libgnutls` | the copies of libgnutls, and whether they can be served |
//! | `list` | the state of one trust list: lazy with a recipe, or complete |
//! | `bucket` | the bucket in which GnuTLS puts a certificate |
//! | `fill` | putting certificates into a list, or into a private one |
//! | `system_trust` | the certificates of `windlass run --add-ca`, added after a load of the machine's own trust |
//! | `lifecycle`, `load`, `verify`, `complete`, `server`, `log` | entry points |
//!
//! # Why the results of all functions are those of stock
//!
//! This table lists every exported function that takes a trust list or credentials (libgnutls.map of 3.7.9 and 3.8.13).
//!
//! "PLT": libgnutls calls a hooked function of another source file, and `libgnutls` has made sure that such calls come
//! to us.
//!
//! | function | here |
//! | --- | --- |
//! | `trust_list_init`, `certificate_allocate_credentials` | the list is watched from now on, if the caller is linked |
//! | `trust_list_deinit` | the state ends before the list does |
//! | `certificate_free_credentials`, `_set_trust_list` | PLT: the same |
//! | `trust_list_add_trust_file`, `_mem` | noted, or the original: `add_cas`, `add_crls` complete the list (PLT) |
//! | `certificate_set_x509_{trust_file,trust_dir,system_trust}` | PLT: `add_trust_file`; hooked for `system_trust` |
//! | `trust_list_add_{trust_dir,system_trust}` | the same |
//! | `certificate_set_x509_{trust_mem,crl_file,crl_mem}` | PLT: `add_trust_file`, `add_trust_mem` |
//! | `certificate_set_x509_{trust,crl}`, `_simple_pkcs12_{file,mem}` | PLT: `add_cas`, `add_crls` |
//! | `trust_list_{add_cas,add_crls,add_named_crt,remove_cas}` | complete first |
//! | `trust_list_remove_trust_{file,mem}` | PLT: `remove_cas`; a PKCS#11 token is only in complete lists |
//! | `trust_list_verify_crt`, `_crt2` | private list; complete first with a callback, which may keep its arguments |
//! | `trust_list_verify_named_crt` | reads names, CRLs and removed certificates; a lazy list has none of these |
//! | `certificate_verify_peers{,2,3}`, `session_set_verify_cert{,2}` | PLT: see the next |
//! | `pkcs7_verify` | PLT: `verify_crt2`, `ocsp_resp_verify`, `get_issuer_by_*` |
//! | `trust_list_get_issuer`; `certificate_get_issuer` (PLT) | private list for a copy, else complete first |
//! | `trust_list_get_issuer_by_{dn,subject_key_id}`, `_iter_get_ca` | complete first |
//! | `trust_list_set_getissuer_function`, `certificate_get_trust_list` | complete first |
//! | `ocsp_resp_verify` | private list; it reads the list by the subject of a certificate in the response |
//! | `trust_list_{get,set}_ptr`, `_iter_deinit` | touch nothing that is loaded |
//! | `certificate_server_set_request` | without it no session sends names (`send_cert_req` in kx.c): see `server` |
//! | `certificate_free_ca_names` | complete first: names of later loads stay |
//! | `certificate_free_{cas,crls}`, all of OpenPGP | do nothing since 3.0 and 3.6 |
//! | `certificate_send_x509_rdn_sequence` | only decides whether names are sent |
//! | `certificate_{get,set}_{x509_key,x509_crt,crt_raw,rawpk,key,…}`, `_free_keys` | own keys; the list is not read |
//! | `certificate_{get,set}_{ocsp_…,verify_…,retrieve_…,flags,dh_params,…}` | settings; the list is not read |
//! | `x509_crt_list_verify`, `x509_crt_verify` | create an empty list inside libgnutls: not watched |
//! | `global_set_{log,audit_log}_function` | complete lists whose messages the function would have got: see `log` |

pub mod api;
pub mod bucket;
pub mod complete;
pub mod fill;
pub mod hooks;
pub mod libgnutls;
pub mod lifecycle;
pub mod list;
pub mod load;
pub mod log;
pub mod server;
pub mod system_trust;
pub mod verify;

pub use hooks::LIBGNUTLS_HOOKS;
