"""Fixtures of several modules."""

from internet import internet as internet
