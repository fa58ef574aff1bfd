"""Builders and helpers for tests, ours and those of adopters."""
