"""Benchmarks: the emulator beside a bare hand-written Starlette application, measured in one run, on Linux."""
