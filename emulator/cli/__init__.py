"""The command line ``payments-emulator``: thin commands that say what they do and fail in one line.

What only the work of a command needs, such as an HTTP client, a web server or the rules, it imports
where it works: help and usage errors are quick.
"""
