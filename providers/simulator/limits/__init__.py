"""Limits as providers count them. Pure: every verb takes `now_us`."""
