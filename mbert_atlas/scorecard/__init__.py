"""Reported against reproduced: verdicts, tables, the page, and what it all cost."""
