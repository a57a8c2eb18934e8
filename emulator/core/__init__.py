"""The core: worlds, records, units of work, jobs, events, state machines; no payments, no HTTP.

The docstring of :mod:`emulator.core.world` explains how these fit together, and why.
"""
