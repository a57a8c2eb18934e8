"""Benchmarks: the emulator beside a bare Starlette application, measured in one run, on Linux."""
