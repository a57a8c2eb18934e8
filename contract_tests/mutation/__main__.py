"""Writes the table of seeded faults into the documentation."""

from contract_tests.mutation.table import write

write()
