from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class RelayProjectConfig(AppConfig):
    name = "relay_project"
    verbose_name = _("Relay")

    def ready(self) -> None:
        from relay_project import checks, configuration, logs

        logs.configure_logs()
        checks.register_checks()
        configuration.watch()
