"""Exit statuses of the command line."""

OK, WRONG_USAGE, INTERRUPTED = 0, 2, 130
