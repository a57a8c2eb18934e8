"""Calibration: finds out which assumptions of the emulator hold at a service, through ``/v1``."""
