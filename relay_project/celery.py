"""Celery: roll-ups, retention and other work off the hot path. The broker is the relay's Valkey.

Worker and clock (beat) are processes of their own beside the servers; `manage.py up` starts one of each.
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.schedules import crontab
from celery.signals import worker_process_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "relay_project.settings")

from django.conf import settings

from relay_project.server.children import die_with_parent
from relay_project.server.store_url import broker_url

RETENTION_TASK = "accounts.tasks.delete_old_usage_rows"

app = Celery("relay_project")
app.conf.update(
    broker_url=broker_url(settings.ENV.valkey_url),
    broker_connection_retry_on_startup=True,
    broker_transport_options={"global_keyprefix": "relay-celery:", "visibility_timeout": 3600},
    accept_content=["json"],
    task_serializer="json",
    task_ignore_result=True,  # results are rows of ours; there is no result backend
    task_acks_late=True,  # tasks are idempotent: a killed worker's task runs again
    task_reject_on_worker_lost=True,
    task_soft_time_limit=600,
    task_time_limit=660,
    task_default_queue="relay",
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    timezone=settings.TIME_ZONE,
    beat_schedule={
        "accounts.retention": {"task": RETENTION_TASK, "schedule": crontab(hour="3", minute="17")},
    },
)
app.autodiscover_tasks()


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _end_with_the_worker(**_: Any) -> None:
    """A pool process must not outlive a worker that was killed."""
    die_with_parent()
