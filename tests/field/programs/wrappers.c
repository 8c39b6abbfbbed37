/* Nothing but calls in tail position: -O2 makes each a jump, so that the return address is that of the wrapper's
 * caller. */
#include "field.h"

#define WRAPPER(type, name, parameters, arguments) \
    type wrap_##name parameters { return name arguments; }
EACH_WRAPPER(WRAPPER)
