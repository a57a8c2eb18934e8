"""A crawl of every page of console, buyers and documentation, over worlds in which everything has happened."""
