"""How many changes of the emulator's own code the tests notice: ``python -m contract_tests.quality.mutants``."""
