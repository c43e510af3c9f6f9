"""Measures the relay beside what it stands between: `make bench`. See docs/performance.md."""
