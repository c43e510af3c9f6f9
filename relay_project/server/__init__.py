"""Processes: the relay's server process, what runs beside it, and who watches over them.

`manage.py up` → `up.py` starts children (`children.py`) and keeps them running (`supervisor.py`): Valkey
(`valkey.py`), Celery, the simulator and N servers. A server process is `python -m relay_project.server`:
daphne by our own launcher (`daphne_launcher.py`, `daphne_http.py`) or uvicorn (`uvicorn_launcher.py`), both
drained alike (`draining.py`).
"""
