"""Operating rules that agents learn from their own failures, that evidence proves and a person approves."""

__version__ = "0.1.0"
