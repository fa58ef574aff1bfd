"""Bytes <-> values, pure. The only place that knows formats."""
