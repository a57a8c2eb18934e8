"""The command line ``payments-emulator``: thin commands that say what they do and fail in one line."""
