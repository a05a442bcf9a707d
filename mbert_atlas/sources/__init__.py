"""Upstream files: what they are, where they come from, and getting them whole and checked."""
