/* What a program can do to a certificate that it has from a store. */
#include <openssl/x509v3.h>

/* Does one of the edits below to a certificate; the result is that of the function which changes it, -1 for an unknown
 * name. */
int edit(const char *how, X509 *x, X509 *other);
typedef int edit_fn(const char *how, X509 *x, X509 *other);
