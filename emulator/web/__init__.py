"""HTTP: the service's API and the control API on Connexion; every operation is compiled once."""

import warnings

# Connexion is imported here first, with its own warnings silenced: it imports what its dependencies
# have deprecated (jsonschema.RefResolver, Starlette's test client on httpx), and a test suite that
# makes warnings errors would fail for something that its author cannot change.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import connexion  # noqa: F401  # imported for the warnings alone
