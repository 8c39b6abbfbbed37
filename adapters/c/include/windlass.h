/* windlass.h: the C library of Windlass. docs/c.md is a guide.
 *
 * Two parts, independent of each other:
 *
 * - windlass_attach() and its kind load the preload library into the running program. It serves the OpenSSL and GnuTLS
 *   that the program loads as shared libraries.
 * - windlass_trust and windlass_store are root stores for everything else: TLS libraries that Windlass does not hook,
 *   and OpenSSL linked into the program (windlass_openssl.h).
 *
 * Strings end in NUL and are UTF-8 or, for paths, whatever bytes the system has. Times are seconds since 1970-01-01
 * 00:00:00 UTC, lengths and sizes are bytes, places count from 0.
 *
 * Threads: every function may be called by any thread at any time, but none from a signal handler.
 *
 * Fork: a forked child may call every function, whatever its parent's threads were doing, except that attaching and
 * windlass_status() need the dynamic linker, whose locks the C library may leave locked in the child of a program with
 * threads: attach before you fork.
 *
 * No function exits, aborts, prints, creates a thread or a signal handler, leaves a descriptor open, or changes errno.
 */
#ifndef WINDLASS_H
#define WINDLASS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. windlass_version() is that of the library. */
#define WINDLASS_VERSION "0.1.0"

const char *windlass_version(void);

/* -- Errors -- */

enum windlass_code {
    WINDLASS_OK = 0,
    WINDLASS_E_ARGUMENT = 1,     /* NULL where that is not allowed, a place beyond the end, an unknown flag */
    WINDLASS_E_MISSING = 2,      /* the file does not exist */
    WINDLASS_E_SYSTEM = 3,       /* system_error says what */
    WINDLASS_E_NOT_A_FILE = 4,   /* not a regular file */
    WINDLASS_E_TOO_LARGE = 5,    /* a file of more than 1 GiB, or with more than can be indexed */
    WINDLASS_E_CHANGING = 6,     /* the file changed during each of several attempts to read it */
    WINDLASS_E_UNSUPPORTED = 7,  /* something in the file that is not read here: see windlass_trust_open() */
    WINDLASS_E_NAME = 8,         /* not a DER name, or one whose canonical form is not known */
    WINDLASS_E_NO_DEFAULT = 9,   /* none of the usual bundles is on this machine */
    WINDLASS_E_LIBRARY = 10,     /* the preload library is missing, damaged, or for another kind of machine */
    WINDLASS_E_MEMORY = 11,
    WINDLASS_E_INTERNAL = 12     /* a fault in this library, please report it */
};

/* Functions take a pointer to one of these, or NULL. It is written only if the function fails. It holds no memory:
 * nothing is to be freed. */
typedef struct windlass_error {
    int code;         /* enum windlass_code */
    int system_error; /* a value of errno, or 0 */
    char path[256];   /* the file that the error is about, or ""; cut off if it is longer */
    char text[512];   /* for people: the reason, with the path */
} windlass_error;

/* A short text for a code, without the particulars. Never NULL, and not to be freed. */
const char *windlass_error_text(int code);

/* -- Attaching -- */

enum windlass_state {
    WINDLASS_DETACHED = 0,    /* loaded, and no calls are seen */
    WINDLASS_ATTACHED = 1,    /* calls are seen */
    WINDLASS_DISABLED = 2,    /* the environment has WINDLASS_DISABLE=1 */
    WINDLASS_SECURE = 3,      /* secure execution (getauxval(3), AT_SECURE): set-user-ID and the like */
    WINDLASS_AUDITED = 4,     /* the environment has LD_AUDIT, whose auditors decide where calls lead */
    WINDLASS_ALREADY = 5,     /* from windlass_attach(): calls were seen before */
    WINDLASS_NOT_LOADED = 6,  /* the preload library is not in this process */
    WINDLASS_FAILED = 7,      /* not possible here and now */
    WINDLASS_UNAVAILABLE = 8  /* from windlass_attach(): the preload library can't be loaded; the error says why */
};

/* A word for a state, as windlass_status() has it. Never NULL, and not to be freed. */
const char *windlass_state_text(int state);

/* Serves TLS contexts that are made from now on by shared libraries of OpenSSL and GnuTLS. Contexts that exist stay as
 * they are.
 *
 * A TLS library that is loaded already is served only if no object in the process can have taken the address of one of
 * its functions, because calls by it would not be seen: no object imports dlsym(3), apart from a few whose use of it is
 * known, or uses such a function as a value, or was unloaded. windlass_status() names the objects.
 *
 * If the preload library is in this process (LD_PRELOAD, or another package loaded it), that one is used. Otherwise
 * the one is loaded that was installed with this library: windlass/libwindlass_preload.so in its directory. No variable
 * of the environment changes that path, and under secure execution nothing is loaded.
 *
 * Returns WINDLASS_ATTACHED or WINDLASS_ALREADY if calls are seen. With any other result the program is as it was
 * before: WINDLASS_DISABLED, WINDLASS_SECURE, WINDLASS_AUDITED, WINDLASS_FAILED (in a child that was forked while
 * other threads ran) or WINDLASS_UNAVAILABLE. The last two set the error. */
int windlass_attach(windlass_error *error);

/* The same, and you state that nothing in the process has taken the address of a function of OpenSSL or GnuTLS so far:
 * TLS libraries that are loaded already are served as well. Call it first in main(), before any code of yours, or of a
 * plugin, that looks for such functions by name. If you are wrong, a certificate that is added or removed by such an
 * address can go unnoticed, and verdicts can change. */
int windlass_attach_early(windlass_error *error);

/* Ends the serving: existing contexts get the certificates that they were promised, and calls go straight to the TLS
 * libraries again. Returns WINDLASS_DETACHED, WINDLASS_NOT_LOADED, or WINDLASS_FAILED (in a callback that runs during a
 * verification, or in a child that was forked while other threads ran). */
int windlass_detach(void);

/* WINDLASS_ATTACHED, _DETACHED, _DISABLED, _SECURE, _AUDITED or _NOT_LOADED. Only reads memory once it has found the
 * preload library. */
int windlass_state(void);

/* Writes what is seen, served and bypassed as text, at most `room` bytes with the NUL at the end. Returns the length of
 * the whole text without the NUL, as snprintf does; if that is `room` or more, the text is cut off. `text` may be NULL
 * if `room` is 0. One fact a line, its fields separated by a space; later versions may add others:
 *
 *     version 0.1.0
 *     state attached
 *     library libcrypto seen /usr/lib/x86_64-linux-gnu/libcrypto.so.3
 *     library libgnutls before /usr/lib/x86_64-linux-gnu/libgnutls.so.30
 *     addresses /usr/lib/x86_64-linux-gnu/libX11.so.6
 *     counter served/SSL_CTX_set_default_verify_paths 1
 *     counter bypass/missing 2
 *
 * A library is "seen" and served; "hidden": something calls it where that can't be seen; or "before": it was there
 * before, and each object of a line "addresses" may have taken addresses of its functions. No path: the program itself;
 * "(unloaded)": an object that is gone.
 *
 * docs/counters.md explains the counters: `served/` by function, `bypass/` by reason. Those that are 0 are left out. */
size_t windlass_status(char *text, size_t room);

/* -- Trusts and stores --
 *
 * A windlass_trust is a file of roots. A windlass_store is one state of it: indexed, and never changed. Both are
 * reference counted, and the counts are atomic. Open a file once, and keep its trust: two trusts of one file share
 * nothing.
 *
 * Spans point into the store. They are valid as long as you hold a reference to it. */

typedef struct windlass_trust windlass_trust;
typedef struct windlass_store windlass_store;

/* Keep the CRLs of the file. Without this flag a file with CRLs is not supported. */
#define WINDLASS_CRLS 1u

/* Opens a PEM file. With a NULL path, opens the machine's bundle: the first that exists of
 *
 *     /etc/ssl/certs/ca-certificates.crt                   Debian, Ubuntu, Alpine, Arch
 *     /etc/pki/tls/certs/ca-bundle.crt                     Fedora, RHEL
 *     /etc/ssl/ca-bundle.pem                               SUSE
 *     /etc/pki/tls/cacert.pem                              OpenELEC
 *     /etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem    RHEL 7
 *     /etc/ssl/cert.pem                                    Alpine, LibreSSL
 *
 * SSL_CERT_FILE has no part in that: whoever wants it passes its value as the path (secure_getenv).
 *
 * All or nothing: a file is supported if it has only CERTIFICATE blocks (and X509 CRL, with WINDLASS_CRLS) that
 * OpenSSL 1.1.1 to 4.0 reads, and comments. TRUSTED CERTIFICATE blocks, keys, damage and a byte order mark are
 * WINDLASS_E_UNSUPPORTED. Of CRLs only the outer structure is checked; what they say is for your TLS library.
 *
 * Returns WINDLASS_OK and sets *trust, a reference that is yours to release. Otherwise *trust is not touched. */
int windlass_trust_open(const char *path, unsigned flags, windlass_trust **trust, windlass_error *error);

/* Adds a reference. Returns its argument; NULL for NULL. */
windlass_trust *windlass_trust_retain(windlass_trust *trust);

/* Releases a reference. NULL is allowed. */
void windlass_trust_release(windlass_trust *trust);

/* The store of the file's present state, with a reference that is yours to release. If the file is unchanged, it is the
 * same store as before, and the call takes two system calls. If the file changed, it is read, and there is a new
 * store; references to the old one stay valid until they are released. If it can't be read, this fails, and *store is
 * not touched: nothing old is returned in its place. */
int windlass_trust_store(windlass_trust *trust, windlass_store **store, windlass_error *error);

windlass_store *windlass_store_retain(windlass_store *store);
void windlass_store_release(windlass_store *store);

typedef struct windlass_span {
    const uint8_t *bytes; /* not NULL, even if the length is 0 */
    size_t length;
} windlass_span;

/* A trusted certificate. */
typedef struct windlass_anchor {
    windlass_span der;             /* the whole certificate */
    windlass_span subject;         /* the whole Name, DER */
    windlass_span issuer;          /* the whole Name, DER */
    windlass_span serial;          /* the content of the INTEGER: big-endian two's complement */
    windlass_span public_key_info; /* the whole SubjectPublicKeyInfo, DER */
    windlass_span subject_key_id;  /* the identifier itself; empty if there is none */
    int64_t not_before;
    int64_t not_after;
} windlass_anchor;

typedef struct windlass_crl {
    windlass_span der;    /* the whole CRL */
    windlass_span issuer; /* the whole Name, DER */
    int64_t this_update;
    int64_t next_update;  /* INT64_MAX if the CRL has none */
} windlass_crl;

/* The number of certificates, duplicates included. 0 for a file of CRLs alone. */
size_t windlass_store_anchor_count(const windlass_store *store);
size_t windlass_store_crl_count(const windlass_store *store);

/* The certificate or the CRL at a place, in the order of the file. `size` is sizeof of the structure: later versions
 * may append fields. Returns WINDLASS_OK, or WINDLASS_E_ARGUMENT beyond the end. */
int windlass_store_anchor(const windlass_store *store, size_t place, windlass_anchor *anchor, size_t size);
int windlass_store_crl(const windlass_store *store, size_t place, windlass_crl *crl, size_t size);

/* Searches. Each writes the places that it found, in the order of the file and duplicates included, as far as there is
 * room, and the number of all that there are to *count, which is 0 after an error. `places` may be NULL if `room` is 0.
 * To find nothing is no error. */

/* Certificates whose subject is this Name (DER), compared as OpenSSL does: without regard to case, type of string and
 * repeated blanks. WINDLASS_E_NAME if this library does not know how OpenSSL compares that name (an unusual type of
 * string, an empty part). */
int windlass_store_by_subject(const windlass_store *store, const uint8_t *subject, size_t length, size_t *places,
                              size_t room, size_t *count);

/* Certificates with this subject key identifier: that of the authority key identifier of what they issued. */
int windlass_store_by_key_id(const windlass_store *store, const uint8_t *key_id, size_t length, size_t *places,
                             size_t room, size_t *count);

/* Certificates with this issuer (a Name, DER, compared byte for byte) and serial number (as windlass_anchor.serial). */
int windlass_store_by_issuer_and_serial(const windlass_store *store, const uint8_t *issuer, size_t issuer_length,
                                        const uint8_t *serial, size_t serial_length, size_t *places, size_t room,
                                        size_t *count);

/* Certificates whose subject is also that of a different certificate of the file. */
int windlass_store_shared_subjects(const windlass_store *store, size_t *places, size_t room, size_t *count);

/* CRLs of this issuer (a Name, DER, compared as OpenSSL does). */
int windlass_store_crls_by_issuer(const windlass_store *store, const uint8_t *issuer, size_t length, size_t *places,
                                  size_t room, size_t *count);

/* -- Objects of a TLS library --
 *
 * A store keeps objects that were made of its certificates and CRLs, so that they are made only once, however many
 * contexts use them. A TLS library with reference counts shares them by reference; they must not be changed. The key is
 * an address in the library that made them, such as that of its function to release them: a process may have several.
 * The store releases its references when its own last reference is released; the code of that library must be loaded
 * until then. */

enum windlass_kind { WINDLASS_ANCHOR = 0, WINDLASS_CRL = 1 };

/* The object of this place, without a reference of its own: it lives as long as the store. NULL if there is none. */
void *windlass_store_object(const windlass_store *store, const void *key, int kind, size_t place);

/* Gives an object to the store, with one reference. Returns the object of this place. If another thread was first, that
 * is another one, and yours has been released. Returns NULL if there is no memory, or for a place beyond the end: then
 * the reference is still yours. */
void *windlass_store_share(windlass_store *store, const void *key, int kind, size_t place, void *object,
                           void (*release)(void *object));

#ifdef __cplusplus
}
#endif

#endif
