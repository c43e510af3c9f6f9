"""The environment of the test run, set before Django reads its settings (loaded by `-p tests.environment`)."""

import os
import tempfile

_defaults = {
    "SECRET_KEY": "tests-only-" + "x" * 40,
    "RELAY_ENCRYPTION_KEYS": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
    "ALLOWED_HOSTS": "127.0.0.1,localhost,testserver",
}
for _name, _value in _defaults.items():
    os.environ.setdefault(_name, _value)
if "RELAY_DATA_DIR" not in os.environ:
    os.environ["RELAY_DATA_DIR"] = tempfile.mkdtemp(prefix="relay-tests-")
