"""Mutants, services wrong in one way each, and the search for those that survive a test suite.

A mutant is a row of a table (:mod:`emulator.checks.suite.mutants`): a function and the mutation
point at which it strikes. The rules know nothing of it. A sandbox is wrong only if it is started
with the parts of
:class:`~emulator.checks.suite.wrong_service.WrongService`, which no option and no environment
variable does.
"""
