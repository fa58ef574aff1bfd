"""Where scores come from, one module a source."""
