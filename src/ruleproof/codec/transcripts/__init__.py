"""Recorded sessions of many systems, read into `core.session.Session`; one module a format."""
