"""What the interpreter is told before it serves. Measured with `make bench`: see docs/performance.md."""

from __future__ import annotations

import gc
import sys

# The loop gives up the interpreter whenever it writes to the journal; with the default of 5 ms, a thread that is busy
# turning records into rows would keep it for so long, at every request.
SWITCH_INTERVAL_S = 0.0005

# A request makes hundreds of objects and hardly a cycle. The defaults (700, 10, 10) look for cycles about once a
# request, and now and then through all of Django.
GC_THRESHOLDS = (10_000, 20, 50)


def tune_interpreter() -> None:
    """Call when everything has been imported: what is there by then is never looked through again."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
