"""What belongs to this one installation: its secret key, and the id that its cookies carry."""

from __future__ import annotations

import os
import re
import secrets
from hashlib import sha256
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from opsboard.env import Environment, env_str

KEY_LENGTH = 50


def read_secret_key(environ: Environment, folder: Path) -> str:
    """OPSBOARD_SECRET_KEY, or the key kept in `folder`, made at the first start. Raises ImproperlyConfigured."""
    given = env_str("OPSBOARD_SECRET_KEY", environ=environ)
    if given:
        return _long_enough(given, "OPSBOARD_SECRET_KEY is too short; give it 50 random letters or leave it out.")
    path = folder / "secret_key"
    try:
        if not path.exists():
            _create_key(path)
        if path.stat().st_mode & 0o077:
            raise ImproperlyConfigured(
                "Others can read var/secret_key; run chmod 600 on it, or delete it to get a new one."
            )
        kept = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise ImproperlyConfigured(
            "The secret key can't be kept in var/; make that folder writable or set OPSBOARD_SECRET_KEY."
        ) from None
    return _long_enough(kept, "var/secret_key is damaged; delete it, and everyone signs in again.")


def instance_id(environ: Environment, secret_key: str) -> str:
    """A name for cookies: two opsboards seen as `localhost` through two tunnels must not sign each other out.

    OPSBOARD_INSTANCE, or a digest of the secret key, which two installations never share by accident.
    """
    given = env_str("OPSBOARD_INSTANCE", environ=environ)
    if given and not re.fullmatch(r"[A-Za-z0-9-]{1,32}", given):
        raise ImproperlyConfigured("OPSBOARD_INSTANCE may hold up to 32 letters, digits and hyphens; shorten it.")
    return given or sha256(b"opsboard.instance:" + secret_key.encode()).hexdigest()[:8]


def _create_key(path: Path) -> None:
    """Write a whole file first and link it into place: of two starts at once one wins, and both read the same key."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".secret_key.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(KEY_LENGTH))
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _long_enough(key: str, sentence: str) -> str:
    if len(key) < KEY_LENGTH:
        raise ImproperlyConfigured(sentence)
    return key
