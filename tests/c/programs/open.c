/* open FILE: the error of this library alone; a FIFO would keep stock OpenSSL waiting. */
#include <stdio.h>
#include <windlass.h>

int main(int count, char **arguments)
{
    windlass_trust *trust = NULL;
    windlass_error error = {0};
    printf("%d ", windlass_trust_open(arguments[count - 1], 0, &trust, &error));
    printf("%s\n", error.text);
    windlass_trust_release(trust);
    return 0;
}
