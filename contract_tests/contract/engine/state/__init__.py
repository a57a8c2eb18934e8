"""State that lasts: files, what a start makes of them, and what goes wrong with them."""
