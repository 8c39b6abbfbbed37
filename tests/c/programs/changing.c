/* changing LIVE FIRST SECOND THIRD FOURTH: LIVE becomes each of the others in turn. THIRD and FOURTH have the same
 * certificate and different CRLs. Old states stay as they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <windlass.h>

#define CHECK(good)                                                                                                    \
    do {                                                                                                               \
        if (!(good)) {                                                                                                 \
            fprintf(stderr, "line %d: %s\n", __LINE__, #good);                                                         \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static void copy(const char *from, const char *to)
{
    static char buffer[16 << 20];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w"); /* the same inode */
    size_t length = in && out ? fread(buffer, 1, sizeof buffer, in) : 0;
    CHECK(length > 0 && length < sizeof buffer && fwrite(buffer, 1, length, out) == length);
    CHECK(fclose(in) == 0 && fclose(out) == 0);
}

int main(int count, char **arguments)
{
    windlass_trust *trust = NULL;
    windlass_store *stores[4], *again = NULL;
    windlass_anchor before, after;
    windlass_crl crls[2];
    windlass_error error;
    CHECK(count == 6);
    for (int state = 0; state < 4; state++) {
        copy(arguments[2 + state], arguments[1]);
        if (!trust)
            CHECK(windlass_trust_open(arguments[1], WINDLASS_CRLS, &trust, &error) == WINDLASS_OK);
        CHECK(windlass_trust_store(trust, &stores[state], &error) == WINDLASS_OK);
        CHECK(windlass_trust_store(trust, &again, &error) == WINDLASS_OK && again == stores[state]);
        windlass_store_release(again);
        for (int other = 0; other < state; other++)
            CHECK(stores[state] != stores[other]);
        if (state == 0)
            CHECK(windlass_store_anchor(stores[0], 3, &before, sizeof before) == WINDLASS_OK);
    }
    CHECK(windlass_store_crl(stores[2], 0, &crls[0], sizeof crls[0]) == WINDLASS_OK);
    CHECK(windlass_store_crl(stores[3], 0, &crls[1], sizeof crls[1]) == WINDLASS_OK);
    CHECK(crls[0].der.length != crls[1].der.length ||
          memcmp(crls[0].der.bytes, crls[1].der.bytes, crls[0].der.length) != 0);
    CHECK(windlass_store_anchor(stores[0], 3, &after, sizeof after) == WINDLASS_OK);
    CHECK(memcmp(&before, &after, sizeof before) == 0);
    CHECK(unlink(arguments[1]) == 0);
    again = NULL;
    CHECK(windlass_trust_store(trust, &again, &error) == WINDLASS_E_MISSING && !again);
    CHECK(strcmp(error.path, arguments[1]) == 0);
    copy(arguments[5], arguments[1]);
    CHECK(windlass_trust_store(trust, &again, &error) == WINDLASS_OK);
    CHECK(windlass_store_crl_count(again) == 1);
    windlass_store_release(again);
    windlass_trust_release(trust);
    for (int state = 0; state < 4; state++)
        windlass_store_release(stores[state]);
    printf("all states were right\n");
    return 0;
}
