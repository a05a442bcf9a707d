"""Muller et al. 2021, which layers carry transfer."""
