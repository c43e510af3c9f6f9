"""What a refusal closes, for how long, and every way out of it (SCHEDULING §8)."""
