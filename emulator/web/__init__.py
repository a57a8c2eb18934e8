"""HTTP in, HTTP out: Connexion's stack, every operation compiled once into a plan. No rule of the service is here."""

import warnings
from importlib.util import find_spec

from emulator.web.deferral import deferred, forgotten

# Connexion and uvicorn are imported here, before anyone else asks for them. Connexion uses what its own dependencies
# deprecate (jsonschema.RefResolver), which our users cannot help; and they would bring along two HTTP clients, a test
# client, a template engine and a WSGI toolkit, a third of the time and a sixth of the memory of a start.
UNUSED = ("requests", "httpx", "starlette.testclient", "starlette.templating", "inflection", "uvicorn.supervisors")

UNUSED_BUT_BY_FLASK = (
    *("jinja2", "asgiref.sync"),
    *("werkzeug.serving", "werkzeug.test", "werkzeug.wrappers", "werkzeug.wsgi"),
)

# Where Connexion finds Flask it takes it along, and Flask makes classes of its own out of theirs.
names, torn = (UNUSED, ()) if find_spec("flask") else (UNUSED + UNUSED_BUT_BY_FLASK, ("werkzeug",))

with deferred(*names), forgotten(*torn), warnings.catch_warnings():
    warnings.simplefilter("ignore", category=DeprecationWarning)
    import connexion  # noqa: F401  # imported for its place in sys.modules
    import uvicorn  # noqa: F401  # likewise
