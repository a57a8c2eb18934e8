"""A project with one table; ``DATABASE`` is where: the URL of a PostgreSQL server, or SQLite."""

import os
from urllib.parse import urlsplit

DATABASE = os.environ.get("DATABASE", "")
if DATABASE.startswith("postgresql:"):
    url = urlsplit(DATABASE)
    place = {"HOST": url.hostname, "PORT": url.port, "USER": url.username, "NAME": url.path[1:]}
    database = {"ENGINE": "django.db.backends.postgresql", **place}
else:
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
    database["TEST"] = {"NAME": DATABASE or None}  # a file, or memory

DATABASES = {"default": {**database, "ATOMIC_REQUESTS": True}}
INSTALLED_APPS = ["orders"]
MIGRATION_MODULES = {"orders": None}
ROOT_URLCONF = "orders.urls"
SECRET_KEY = "only for tests"
USE_TZ = True
ALLOWED_HOSTS = ["localhost", "testserver"]
