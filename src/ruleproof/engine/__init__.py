"""One verb a module; the world is seen through `engine.ports` only."""
