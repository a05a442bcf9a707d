"""Hidden states on disk: a vector per text, word or token, and statistics of them."""
