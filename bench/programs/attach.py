"""attach.py: the milliseconds of `import windlass; windlass.attach()`. attach.py FOLDER: those of attach() alone, with
all objects of FOLDER loaded."""

import os
import sys
import time

if len(sys.argv) > 1:
    import ctypes

    import windlass

    for name in os.listdir(sys.argv[1]):
        ctypes.CDLL(os.path.join(sys.argv[1], name))
begin = time.perf_counter_ns()
import windlass

result = windlass.attach()
end = time.perf_counter_ns()
assert result == "attached", result
print((end - begin) / 1e6)
