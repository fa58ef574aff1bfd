"""A small shop agent, scripted and called so, over a real database."""
