/* Marks in the traces of strace: what lies between `begin` and `end` of one thread is what one call of a library has
 * done. The descriptor is one that nobody has open. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <grp.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>

enum { MARK = 999 };

static __attribute__((unused)) void mark(const char *what, const char *entry, const char *step)
{
    char text[128];
    int length = snprintf(text, sizeof text, "%s %s/%s", what, entry, step);
    if (write(MARK, text, (size_t)length) >= 0)
        abort();
}

#define BETWEEN_MARKS(entry, step, ...) \
    do {                                \
        mark("begin", entry, step);     \
        __VA_ARGS__;                    \
        mark("end", entry, step);       \
    } while (0)

/* Root may read everything, and the tests are about what may not be read. */
static __attribute__((unused)) void become_nobody(void)
{
    if (getuid() == 0 && (setgroups(0, NULL) || setgid(65534) || setuid(65534)))
        abort();
}

static __attribute__((unused)) const char *in(const char *folder, const char *name)
{
    static char paths[16][512];
    static unsigned next;
    char *path = paths[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % 16];
    snprintf(path, 512, "%s/%s", folder, name);
    return path;
}
