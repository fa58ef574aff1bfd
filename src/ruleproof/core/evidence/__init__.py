"""One judgement a module: what recorded sessions say about a rule. Pure."""
