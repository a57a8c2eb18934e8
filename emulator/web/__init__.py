"""HTTP in, HTTP out: Connexion's stack, every operation compiled once into a plan. No rule of the service is here."""

import warnings

from emulator.web.deferral import deferred

# Connexion is imported here, before anyone else asks for it. It uses what its own dependencies deprecate
# (jsonschema.RefResolver), which our users cannot help; and it would bring along two HTTP clients, a test client
# and a template engine, a third of the time and a sixth of the memory of a start.
UNUSED = (
    *("requests", "httpx", "starlette.testclient", "jinja2", "starlette.templating"),
    *("werkzeug.serving", "werkzeug.test"),
)

with deferred(*UNUSED), warnings.catch_warnings():
    warnings.simplefilter("ignore", category=DeprecationWarning)
    import connexion  # noqa: F401  # imported for its place in sys.modules
