"""HTML pages: the console, the buyer's pages and the reference."""
