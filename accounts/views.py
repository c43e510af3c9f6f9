"""Pages of accounts."""

from __future__ import annotations

from typing import cast

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.usage_page import figures
from accounts.usage_page.chart import draw_chart
from accounts.usage_page.period import PERIODS, pick_period
from accounts.usage_page.stories import tell


@require_safe
@login_required
def usage(request: HttpRequest) -> HttpResponse:
    """A member's own requests over a period: four figures, a picture, a table by model, the latest ones."""
    user = cast(User, request.user)
    period = pick_period(request.GET.get("period"))
    now = timezone.now()
    starts = period.starts(now)
    totals, before = figures.count_totals(user, starts[0], now)
    context = {
        "periods": PERIODS,
        "period": period,
        "time_zone": timezone.get_current_timezone_name(),
        "totals": totals,
        "figures": figures.the_four(totals, before, str(period.before)),
        "chart": draw_chart(figures.count_by_role(user, starts[0], now, period.unit), starts, period),
        "models": figures.list_models(user, starts[0], now),
        "stories": [tell(row) for row in figures.list_recent(user, starts[0], now)],
        "recent_rows": figures.RECENT_ROWS,
        "chat_url": request.build_absolute_uri("/v1/chat/completions"),
    }
    return render(request, "accounts/usage.html", context)
