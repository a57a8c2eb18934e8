"""Calibration: asks a running service which decisions of the emulator hold there, through ``/v1`` alone."""
