"""Liu et al. (2020): data, context windows, and shifting a vector changes the language."""
