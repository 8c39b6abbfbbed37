#ifndef FAILING_H
#define FAILING_H

#include <stdint.h>

/* Which calls fail: one of `number`, only the one of that number, all from it on; or none, as the address space is limited to `number` KiB
 * more than it has. */
enum how { NEVER, AT_RANDOM, ONE, FROM, LIMITED };

struct plan {
    enum how how;
    uint64_t number, seed;
};

void set_plan(struct plan wanted);
void arm_failing(int on);
uint64_t calls_so_far(void);
uint64_t mixed(uint64_t seed);

#endif
