"""The database of the tests, for processes beside them."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from django.db import connection


def url() -> str:
    """The address of the database that the tests have made, by now under its name for tests."""
    told = connection.settings_dict
    if told["ENGINE"].endswith("sqlite3"):
        return f"sqlite:///{told['NAME']}"
    account = ":".join(quote(str(told[part]), safe="") for part in ("USER", "PASSWORD") if told[part])
    # A folder of sockets is a host as well, when its slashes are quoted.
    place = f"{quote(told['HOST'], safe='')}:{told['PORT'] or 5432}"
    return f"postgres://{account}@{place}/{told['NAME']}"


def write_without_waiting() -> None:
    """Let no commit to the PostgreSQL of the tests wait for the disk, whoever makes it: no test pulls the plug."""
    if connection.vendor == "postgresql":
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
        # It holds for connections from now on.
        connection.close()


def entry() -> dict[str, Any]:
    """The same as an entry of DATABASES, for a project that reads no addresses."""
    parts = ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS", "CONN_MAX_AGE")
    entry: dict[str, Any] = json.loads(
        json.dumps({part: connection.settings_dict[part] for part in parts}, default=str)
    )
    return entry
