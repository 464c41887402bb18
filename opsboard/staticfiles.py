"""Where pages find their style sheets and scripts."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Hashed, compressed files; a file without a hash is named plainly.

    A page must not fail, least of all an error page, because static files were not collected yet.
    """

    def stored_name(self, name: str) -> str:
        try:
            return str(super().stored_name(name))
        except ValueError:
            return name
