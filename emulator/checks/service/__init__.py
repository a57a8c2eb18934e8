"""Calibration: asks a running service which assumptions of the emulator hold there, through ``/v1`` alone."""
