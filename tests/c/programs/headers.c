/* Nothing but the headers, in any order and twice. */
#include <windlass_openssl.h>
#include <windlass.h>
#include <windlass_openssl.h>

int main(void)
{
    windlass_store *store = 0;
    return windlass_openssl_install(0, store, 0) || windlass_openssl_add_cert(0, store, 0);
}
