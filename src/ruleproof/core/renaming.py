"""Another name for a session that was forgotten: a digest in the place of its id; counts stay, and nobody knows whose.

In the fields that hold sessions the id is replaced where it is the whole value or a key. In other texts it is replaced
where it stands by itself, unless it is shorter than 8 characters: then it may be any word.
"""

from __future__ import annotations

import json
import re

from ruleproof.core.ids import digest
from ruleproof.core.scrub import LEAST

_PREFIX = "forgotten-"
_FIELDS = frozenset(("session", "session_id", "unit", "birth_session"))
_LISTS = frozenset(("observed_sessions", "breached_sessions", "examples"))
_TABLES = frozenset(("exposures",))
_OTHERS = frozenset(("rule", "rationale"))
"""Words of somebody else, which stay as they are."""


def alias_of(session_id: str) -> str:
    """The name of that session once it is forgotten; one name, always, and an alias is its own."""
    return session_id if is_alias(session_id) else _PREFIX + digest(session_id)[-16:]


def is_alias(unit: str) -> bool:
    """Whether this stands for a forgotten session: no coin of it can be thrown again, and its recorded arm stands."""
    return unit.startswith(_PREFIX)


class Renaming:
    """Puts `alias` in the place of the session id `name`."""

    def __init__(self, name: str, alias: str) -> None:
        self._name, self._alias = name, alias
        forms = dict.fromkeys((name, json.dumps(name)[1:-1], json.dumps(name, ensure_ascii=False)[1:-1]))
        apart = "|".join(map(re.escape, forms))
        self._alone = re.compile(rf"(?<![\w.:@/-])(?:{apart})(?![\w@/-]|[.:]\w)") if len(name) >= LEAST else None
        self._somewhere = re.compile(rf"(?<![^\W_])(?:{apart})(?![^\W_])") if len(name) >= LEAST else None

    def value(self, value: object, key: str = "") -> object:
        """A JSON value under `key`; the same object where the session is not named in it."""
        if isinstance(value, str):
            if key in _FIELDS or key in _LISTS:
                return self._alias if value == self._name else value
            return value if key in _OTHERS else self.text(value)
        if isinstance(value, dict):
            made = {self._key(name, key): self.value(item, str(name)) for name, item in value.items()}
            same = made.keys() == value.keys() and all(made[name] is value[name] for name in made)
            return value if same else made
        if isinstance(value, list):
            items = [self.value(item, key) for item in value]
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        return value

    def text(self, text: str) -> str:
        """`text` with the alias wherever the id stands by itself; the same object where it does not."""
        return text if self._alone is None or not self._alone.search(text) else self._alone.sub(self._alias, text)

    def remains(self, data: bytes) -> bool:
        """Whether the id is a word, or a part of words, in these bytes."""
        return self._somewhere is not None and self._somewhere.search(data.decode("utf-8", "replace")) is not None

    def data(self, data: bytes) -> bytes:
        """Bytes of whatever format, as text; the same object where nothing had to be changed."""
        text = data.decode("utf-8", "surrogateescape")
        clean = self.text(text)
        return data if clean is text else clean.encode("utf-8", "surrogateescape")

    def _key(self, name: object, table: str) -> object:
        return self._alias if table in _TABLES and name == self._name else name
