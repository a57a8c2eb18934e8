"""The service's rules: each resource's record, state machine, operations and jobs, without I/O.

The docstring of :mod:`emulator.core.world` explains how such a module is built. The packages build
on each other in one direction: app; catalog, customers and webhooks; payments; billing; checkout
and sandbox.
"""
