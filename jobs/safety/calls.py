"""A call of a job's function as the ledger keeps it: ids by parameter name, and the operation id made of them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from string import Formatter
from typing import Any

from jobs.domain.arguments import hidden_values
from jobs.domain.calls import Call as StoredCall
from jobs.domain.literals import HiddenValues
from jobs.domain.named_secrets import names_a_secret
from jobs.safety.errors import ArgumentsRefused, MisuseError

LONGEST_TEXT = 200
LONGEST_ID = 600
HUGE = 10**LONGEST_TEXT
_PLAIN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True)
class Call:
    """One call, bound to the function's parameters: `args` is the canonical copy, which job code can't change."""

    operation_id: str
    args: Mapping[str, Any]
    fingerprint: str
    entity: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Of the function's parameters that have one."""


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
        fields = [one for one in Formatter().parse(template) if one[1] is not None]
        names = [str(name) for _, name, _, _ in fields]
        if not names:
            raise MisuseError(f"The id “{template}” names no parameter, so the job would run once and never again.")
        for name in [*names, *([entity] if entity else [])]:
            if name not in signature.parameters:
                raise MisuseError(f"“{name}” is no parameter of {function.__qualname__}; write {{its_name}} as it is.")
        if any(spec or conversion for _, _, spec, conversion in fields):
            raise MisuseError(f"The id “{template}” formats its values: write {{its_name}} as it is.")
        return cls(signature, template, entity)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
        """The call. Raises TypeError when it does not fit the function, ArgumentsRefused for what is no id."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        canonical = {name: _require_id(name, value) for name, value in bound.arguments.items()}
        parameters = self.signature.parameters.values()
        return Call(
            operation_id=self._id_of(canonical),
            args=canonical,
            fingerprint=fingerprint(canonical),
            entity=str(canonical[self.entity]) if self.entity else "",
            defaults={one.name: one.default for one in parameters if one.default is not one.empty},
        )

    def hidden_in(self, call: Call) -> HiddenValues:
        """The values that make neither the operation id nor the entity: a text about the call is cleared of these."""
        names = {field for _, field, _, _ in Formatter().parse(self.template)} | {self.entity}
        if names.issuperset(call.args):
            return HiddenValues()
        stored = StoredCall(function=None, args=(), kwargs=call.args, complete=True)
        return hidden_values(stored, sorted(name for name in names if name))

    def _id_of(self, canonical: Mapping[str, Any]) -> str:
        made = self.template.format_map({name: _in_id(value) for name, value in canonical.items()})
        if len(made) > LONGEST_ID:
            raise ArgumentsRefused(f"The operation id would have {len(made)} characters: more than {LONGEST_ID}.")
        return made


def fingerprint(value: Any) -> str:
    """sha256 of the canonical JSON, in hex. Raises TypeError for what is not JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(text.encode()).hexdigest()


def storable(value: Any, *, keep: int = 255) -> str:
    """As text that both databases take: without NUL and halves of surrogate pairs, and not longer than `keep`."""
    text = "" if value is None else str(value)[:keep]
    return text.replace("\0", "").encode(errors="replace").decode()


def _require_plain(parameter: inspect.Parameter) -> None:
    if parameter.kind not in _PLAIN:
        raise MisuseError(f"An operation needs its parameters named one by one; “{parameter.name}” is not.")
    if not parameter.name.endswith("_id") and names_a_secret(parameter.name):
        raise MisuseError(f"“{parameter.name}” sounds like a secret, and calls are stored: pass the id of its owner.")


def _require_id(name: str, value: Any) -> Any:
    is_text = isinstance(value, str) and len(value) <= LONGEST_TEXT and storable(value) == value
    is_number = isinstance(value, int) and abs(value) < HUGE
    if not (value is None or is_text or is_number):
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
