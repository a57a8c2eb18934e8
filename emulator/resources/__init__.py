"""The rules of the service: for each resource its record, state machine, operations and jobs, without input or output.

The docstring of :mod:`emulator.core.world` explains how such a module is built. The packages build on each other in one
direction: app; catalog, customers and webhooks; payments; billing; checkout and sandbox.
"""
