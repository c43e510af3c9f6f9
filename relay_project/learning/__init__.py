"""What the relay learns by relaying (SCHEDULING §5–6): answer lengths, prompt sizes, what an account really allows."""
