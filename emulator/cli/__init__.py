"""The command line ``payments-emulator``: thin commands that say what they do and fail in one line.

A module that only a command's work needs, such as an HTTP client, a web server or the rules, is
imported where the command works: so help and usage errors are quick.
"""
