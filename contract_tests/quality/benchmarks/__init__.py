"""Benchmarks: the emulator beside a bare hand-written Starlette app, measured in one run.

``python -m contract_tests.quality.benchmarks`` prints one table; ``--help`` names its options. It needs Linux (memory is read
from ``/proc``) and nothing that the emulator does not need itself. pytest measures no time.
"""
