"""The service's rules: each resource's record, state machine, operations and jobs, without I/O.

The docstring of :mod:`emulator.core.world` explains how such a module is built. The packages and
modules build on each other in one direction: app; catalog, customers and webhooks; faults;
payments; billing; checkout and simulation; the ledger and fields that are set directly; registry.
"""
