"""The state on a Valkey server (Redis ≥ 7 too), shared by all processes. `ValkeyBackend` is what is used."""
