"""Hidden states on disk, one vector per text or per word."""
