"""Who is answered at all, before anything else looks at a request: this machine, or a named host behind a proxy."""

from __future__ import annotations
