"""What single papers have of their own."""
