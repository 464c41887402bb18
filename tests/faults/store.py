"""A private store as it is deployed (durable, with the accounts that ship), which a test can bring into trouble."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

from redis import Redis

from opsboard.runner.valkey import DURABLE, EmbeddedValkey, free_port
from tests.faults.line import Line
from tests.support.real_rq import ROOT, wait_until

PASSWORD = "l0ng-Passw0rd"
ACTOR = "opsboard-actor"


class Store:
    """One Valkey. The account that acts reaches it over `line`; `admin` is the tests' own way in."""

    def __init__(self, folder: Path) -> None:
        accounts = (ROOT / "deploy/redis-acl.conf").read_text().replace("CHANGE-ME", PASSWORD)
        self.server = EmbeddedValkey(
            folder=folder,
            port=free_port(),
            password=PASSWORD,
            settings=DURABLE,
            users=re.findall(r"^user .*$", accounts, re.MULTILINE),
        )
        self.process = self.server.start()
        self.admin: Any = Redis.from_url(self.server.url)
        self.line = Line(self.server.port)
        self.line.open()

    @property
    def connection(self) -> dict[str, Any]:
        """What opsboard is told of it."""
        url = self.server.url_for(ACTOR, PASSWORD).replace(f":{self.server.port}/", f":{self.line.port}/")
        return {"url": url, "read_url": self.server.url_for("opsboard-reader", PASSWORD), "prefix": "rq"}

    def change_actor(self, *rules: str) -> None:
        """Give the account that acts other rules; whoever is signed in stays so."""
        self.admin.execute_command("ACL", "SETUSER", ACTOR, *rules)

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """What power loss does to the process; its file stays."""
        self.process.kill()
        self.process.wait(10)

    def restart(self) -> None:
        """Start again from the append-only file."""
        self.process = self.server.start()
        wait_until(self.admin.ping, "the store is back")

    def tear_its_file(self) -> None:
        """Lose the last bytes that were written, as a power loss in the middle of a write does."""
        newest = max((self.server.folder / "appendonlydir").glob("*.incr.aof"), key=lambda path: path.name)
        with newest.open("r+b") as file:
            file.truncate(newest.stat().st_size - 10)

    def end(self) -> None:
        self.line.close()
        self.thaw()
        self.kill()
