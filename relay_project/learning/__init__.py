"""What the relay learns from what it relays (SCHEDULING §5–6): answer lengths, prompt sizes, an account's real limits."""
