"""The web console at ``/_emulator/``: shows and controls a world in a browser."""
