"""Helpers for tests, ours and those of adopters."""

from ruleproof.testing.system import FixedSystem

__all__ = ["FixedSystem"]
