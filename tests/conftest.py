"""Settings every test shares. Set before Django is loaded: pytest imports this file first."""
