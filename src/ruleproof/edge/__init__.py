"""Every byte that moves: files, locks, clock, ids, evaluators."""
