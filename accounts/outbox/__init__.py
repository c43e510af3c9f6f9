"""The usage outbox: the books are kept without a database on the hot path.

A request says two things here, each one line in a local journal: *intent* when it is granted a lane, *result*
when it has ended. A thread of its own moves results into rows, in batches. What holds, and why:

* Nothing said is lost when the process is killed: a line is one `write`, so it is the kernel's once the call
  returns. (A machine that loses power may lose the last moments; nothing is fsynced per record.)
* Nothing is doubled: rows are unique by request id, and writing one again changes nothing.
* An intent whose process died becomes a row `relay_lost`. A process holds a lock on its journal for as long
  as it lives, stopped or not, so that only a dead one's journal is ever taken over.
* The database may be away: the journal is the buffer, up to `OutboxLimits.max_bytes`; beyond it records are
  counted and dropped, loudly, and requests go on.

    outbox.py    the facade: intend, settle, the thread      journal.py   the files and the lock
    drain.py     a live journal into rows                    orphans.py   a dead process's journal into rows
    record.py    the record and its line                     tally.py     many rejections into one row
    writing.py   what a writer may answer
"""

from accounts.outbox.outbox import Outbox, OutboxLimits, OutboxState
from accounts.outbox.record import UsageRecord
from accounts.outbox.writing import DatabaseAway, RecordsRefused, RowWriter

__all__ = [
    "DatabaseAway",
    "Outbox",
    "OutboxLimits",
    "OutboxState",
    "RecordsRefused",
    "RowWriter",
    "UsageRecord",
]
