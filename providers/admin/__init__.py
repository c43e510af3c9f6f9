"""Providers, API keys and models in the admin; `relay_project.admin` puts the provider's page together."""

from providers.admin.keys import CredentialInline
from providers.admin.models import ModelAdmin, ModelInline
from providers.admin.provider import ProviderAdmin

__all__ = ["CredentialInline", "ModelAdmin", "ModelInline", "ProviderAdmin"]
