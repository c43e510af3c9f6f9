"""A lane profile's page: the profile, and beside it what the advisor says of it and what other numbers would do."""

from __future__ import annotations

from django.contrib import admin

from relay_project.admin.what_if import WhatIfAdmin
from scheduling.models import LaneProfile

admin.site.unregister(LaneProfile)  # the app's own page knows nothing of the other apps


@admin.register(LaneProfile)
class RelayLaneProfileAdmin(WhatIfAdmin):
    change_form_outer_before_template = "relay/admin/parts/advice.html"
