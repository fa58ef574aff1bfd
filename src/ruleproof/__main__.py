"""`python -m ruleproof`."""

from __future__ import annotations

from ruleproof.surfaces.cli.main import main

main()
