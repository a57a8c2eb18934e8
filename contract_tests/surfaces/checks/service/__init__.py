"""Calibration against services that are known to be different."""
