"""Efimov et al. 2022, cross-lingual adjustment."""
