"""Trials of the exports with real processes, for people to watch and as acceptance tests."""
