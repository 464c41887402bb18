"""A call of a job's function as the ledger keeps it: ids by parameter name, and the operation id made of them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from string import Formatter
from typing import Any

from jobs.domain.named_secrets import NAMES
from jobs.safety.errors import ArgumentsRefused, MisuseError

LONGEST_TEXT = 200
_PLAIN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True)
class Call:
    """One call, bound to the function's parameters: `args` is the canonical copy, which job code can't change."""

    operation_id: str
    args: Mapping[str, Any]
    fingerprint: str
    entity: str


@dataclass(frozen=True)
class Shape:
    """How the calls of one function are read: its parameters, and which of them make the operation id."""

    signature: inspect.Signature
    template: str
    entity: str | None

    @classmethod
    def of(cls, function: Callable[..., Any], template: str, entity: str | None) -> Shape:
        """Raises MisuseError, at import, for a function or a template that could not keep its promise."""
        signature = inspect.signature(function)
        for parameter in signature.parameters.values():
            _require_plain(parameter)
        names = [field for _, field, _, _ in Formatter().parse(template) if field is not None]
        if not names:
            raise MisuseError(f"The id “{template}” names no parameter, so the job would run once and never again.")
        for name in [*names, *([entity] if entity else [])]:
            if name not in signature.parameters:
                raise MisuseError(f"“{name}” is no parameter of {function.__qualname__}; write {{its_name}} as it is.")
        return cls(signature, template, entity)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
        """The call. Raises TypeError when it does not fit the function, ArgumentsRefused for what is no id."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        canonical = {name: _require_id(name, value) for name, value in bound.arguments.items()}
        return Call(
            operation_id=self.template.format_map({name: _in_id(value) for name, value in canonical.items()}),
            args=canonical,
            fingerprint=fingerprint(canonical),
            entity=str(canonical[self.entity]) if self.entity else "",
        )


def fingerprint(value: Any) -> str:
    """sha256 of the canonical JSON, in hex. Raises TypeError for what is not JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(text.encode()).hexdigest()


def _require_plain(parameter: inspect.Parameter) -> None:
    if parameter.kind not in _PLAIN:
        raise MisuseError(f"An operation needs its parameters named one by one; “{parameter.name}” is not.")
    name = parameter.name.lower()
    if not name.endswith("_id") and any(word in name for word in NAMES):
        raise MisuseError(f"“{parameter.name}” sounds like a secret, and calls are stored: pass the id of its owner.")


def _require_id(name: str, value: Any) -> Any:
    is_id = value is None or isinstance(value, (bool, int)) or (isinstance(value, str) and len(value) <= LONGEST_TEXT)
    if not is_id:
        raise ArgumentsRefused(
            f"“{name}” is {_described(value)}: an operation takes ids (whole numbers, texts of up to {LONGEST_TEXT} "
            "characters), since calls are stored. Pass the id, and read the rest in the job."
        )
    return value


def _described(value: Any) -> str:
    return f"a text of {len(value)} characters" if isinstance(value, str) else f"a {type(value).__name__}"


def _in_id(value: Any) -> str:
    """A value within an operation id; what separates the parts there is written in another way within them."""
    return str(value).replace("%", "%25").replace(":", "%3A")
