"""`/login/`: Django's own view; django-axes counts the failures behind it."""

from __future__ import annotations

from datetime import timedelta
from math import ceil

from axes.helpers import get_cool_off, get_failure_limit
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.models import User


class SignIn(LoginView):
    template_name = "relay/login.html"
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Signed in: the language the user has chosen goes along with this browser from here on."""
        response = super().form_valid(form)
        user = form.get_user()
        if isinstance(user, User) and user.language:
            response.set_cookie(
                settings.LANGUAGE_COOKIE_NAME,
                user.language,
                max_age=settings.LANGUAGE_COOKIE_AGE,
                samesite=settings.LANGUAGE_COOKIE_SAMESITE,
            )
        return response


def locked_out(request: HttpRequest, response: HttpResponse | None, credentials: object) -> HttpResponse:
    """What django-axes answers after too many failures (AXES_LOCKOUT_CALLABLE)."""
    pause = get_cool_off(request) or timedelta(0)
    context = {
        "failures": get_failure_limit(request, credentials),
        "minutes": ceil(pause / timedelta(minutes=1)),
    }
    answer = render(request, "relay/locked_out.html", context, status=429)
    answer["Retry-After"] = str(ceil(pause.total_seconds()))
    return answer
