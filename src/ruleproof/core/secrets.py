"""Credentials in text, replaced by `[redacted:<kind>]` before anything is written, shown or shared.

Every pattern begins at a literal and is bounded, so that the time is linear in the text. A mention is no credential:
`sk-XXXX`, `AKIA...`, `<token>`, `password` and `${API_KEY}` stay. Redacting twice changes nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from ruleproof.core.text import visible

MAX_DEPTH = 64
_TOO_DEEP = "[redacted:too-deep]"

_PLACEHOLDER = re.compile(r"your[_-]|placeholder|x{4,}|\*{3,}|\.\.\.|changeme|redacted|[_-]here$", re.IGNORECASE)
_PLACEHOLDER_WORD = re.compile(r"(?:(?:my|the|db|new|old)[_-]?)?(?:password|passwd|pass|pwd|pw|secret|token|key)", re.I)
_NOT_A_VALUE = frozenset("$<{%*[")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_RUN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_PART = re.compile(r"[A-Za-z0-9]+")
_PLAIN_PART = re.compile(r"[A-Za-z]{2,}\d{0,3}|\d+|v\d+")
_CHOPPED = 0.33
"""Runs of one kind of character per character: words stay below, random strings above."""


def _is_value(text: str) -> bool:
    """Not a placeholder: the judge of whatever has a prefix or a place that says what it is."""
    return (
        len(set(text.lower())) > 4
        and text[0] not in _NOT_A_VALUE
        and not _PLACEHOLDER.search(text)
        and not _PLACEHOLDER_WORD.fullmatch(text)
    )


def _is_header(text: str) -> bool:
    """A value with a digit in it, or chopped as only random text is."""
    return _is_value(text) and (any(map(str.isdigit, text)) or len(_RUN.findall(text)) >= _CHOPPED * len(text))


def _is_token(text: str) -> bool:
    """Sixteen characters or more that are no name, path, version or date."""
    digits, letters = sum(map(str.isdigit, text)), sum(map(str.isalpha, text))
    if len(text) < 16 or letters < 3 or "://" in text or _DATE.match(text) or not _is_value(text):
        return False
    longest = max(_PART.findall(text), key=len, default="")
    whole = len(longest) >= 12 and any(map(str.isdigit, longest)) and any(map(str.isalpha, longest))
    return (whole and digits > 2) or len(_RUN.findall(text)) >= _CHOPPED * len(text)


def _is_password(text: str) -> bool:
    """Letters and digits mixed as in no word, name or version."""
    return (
        any(map(str.isdigit, text))
        and any(map(str.isalpha, text))
        and _is_value(text)
        and "://" not in text
        and not all(map(_PLAIN_PART.fullmatch, _PART.findall(text)))
    )


@cache
def _compiled(source: str, flags: int) -> re.Pattern[str]:
    """Compiled on first use: most texts need none of them."""
    return re.compile(source, flags)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """`judge` says of the group of `source` that took part (or of the whole) whether it is a secret."""

    kind: str
    literals: tuple[str, ...]
    """One of these stands in any text that `source` finds something in; lower case where case is ignored."""
    source: str
    judge: Callable[[str], bool] = _is_value
    whole: bool = False
    """True: case matters, and what is replaced is all that was found, prefix included; False: the group only."""

    def sub(self, text: str, searched: str) -> str:
        """`text` without what this pattern finds; `searched`: the same text as the literals need it."""
        if not any(map(searched.__contains__, self.literals)):
            return text
        return _compiled(self.source, 0 if self.whole else re.IGNORECASE).sub(self._replace, text)

    def _replace(self, match: re.Match[str]) -> str:
        group = match.lastindex or 0
        if not self.judge(match[group]):
            return match[0]
        if self.whole:
            return f"[redacted:{self.kind}]"
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return f"{match[0][:start]}[redacted:{self.kind}]{match[0][end:]}"


def _prefixed(kind: str, prefixes: str, body: str, judge: Callable[[str], bool] = _is_value) -> _Pattern:
    """`prefixes`: literals separated by spaces; `body`: what must follow one of them."""
    literals = tuple(prefixes.split())
    start = "|".join(map(re.escape, literals))
    return _Pattern(kind, literals, rf"(?<![A-Za-z0-9])(?:{start})({body})", judge, whole=True)


def _placed(kind: str, literals: str, regex: str, judge: Callable[[str], bool] = _is_value) -> _Pattern:
    return _Pattern(kind, tuple(literals.split()), regex, judge)


_WORD, _URL64 = "[A-Za-z0-9]", "[A-Za-z0-9_-]"
_PASSWORD_KEY = r"passw(?:or)?d|passphrase|pwd"
_TOKEN_KEY = r"token|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key|auth[_-]?key|credential"
_VALUE = r"(?:\\?\"([^\"\\\s]{8,}+)\\?\"|'([^'\s]{8,}+)'|([^\s\"'`,;&<>(){}\[\]\\]{8,}+))"
_FLAG = r"(?<![\w-])--[\w-]{0,24}"
_IS = r"[\w-]{0,32}[\"'`\]\\]{0,3}\s{0,3}(?:(?::=|=>|[=:])\s{0,3}|is\s{1,3})"

_PREFIXED = (
    _prefixed("aws-key", "AKIA ASIA ABIA ACCA", "[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _prefixed("github-token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", "[A-Za-z0-9_]{16,}+"),
    _prefixed("gitlab-token", "glpat- gldt- glrt- glptt- glcbt- glft- glsoat- gloas- glagent-", f"{_URL64}{{16,}}+"),
    _prefixed("slack-token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", "[A-Za-z0-9.-]{10,}+"),
    _prefixed("webhook", "https://hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/-]{16,}+"),
    _prefixed("webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", r"\d{6,24}/[\w-]{16,}+"),
    _prefixed("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", "[A-Za-z0-9+/=]{10,}+"),
    _prefixed("google-key", "AIza", f"{_URL64}{{30,}}+"),
    _prefixed("google-token", "ya29. GOCSPX- 1//0", "[A-Za-z0-9_./-]{20,}+"),
    _prefixed("anthropic-key", "sk-ant-", f"{_URL64}{{12,}}+"),
    _prefixed("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-or-v1- sk-lf- sk-None-", f"{_URL64}{{12,}}+"),
    _prefixed("openai-key", "sk-", f"{_WORD}{{16,}}+"),
    _prefixed("hugging-face-token", "hf_ api_org_", f"{_WORD}{{20,}}+"),
    _prefixed("npm-token", "npm_", f"{_WORD}{{20,}}+"),
    _prefixed("pypi-token", "pypi-", f"{_URL64}{{32,}}+", _is_token),
    _prefixed("sendgrid-key", "SG.", r"[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+"),
    _prefixed("twilio-key", "SK AC", "[0-9a-f]{32}(?![A-Za-z0-9])"),
    _prefixed("service-token", "dop_v1_ doo_v1_ dor_v1_ dapi shpat_ shpca_ shppa_ shpss_ key-", "[0-9a-f]{32,}+"),
    _prefixed(
        "service-token", "gsk_ xai- r8_ pplx- lin_api_ ntn_ secret_ sq0atp- glsa_", f"{_URL64}{{22,}}+", _is_token
    ),
    _prefixed("service-token", "dckr_pat_ hvs. hvb. lsv2_pt_ lsv2_sk_ sbp_ PMAK- dp.pt.", "[A-Za-z0-9_.-]{20,}+"),
    _prefixed("age-key", "AGE-SECRET-KEY-1", "[0-9A-Z]{20,}+"),
    _Pattern("jwt", ("eyJ",), rf"(?<![\w-])eyJ({_URL64}{{8,}}+(?:\.{_URL64}{{4,}}+){{2,4}})", whole=True),
    _Pattern("telegram-token", (":AA",), r"(?<!\d)\d{8,10}:AA[\w-]{30,40}", whole=True),
)
_PLACED = (
    _placed("password", "://", r"://[^\s/:@?#\"'<>]{0,128}:([^\s/\"'<>]{3,256})@"),
    _placed("azure-key", "accountkey= sharedaccesskey=", r"(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/=]{30,128})"),
    _placed("signed-url", "sig=", r"[?&;]sig=([A-Za-z0-9%+/=_-]{20,256})"),
    _placed("secret", "?key= &key=", r"[?&]key=([^\s\"'`&#<>]{16,}+)", _is_token),
    _placed(
        "authorization",
        "authorization",
        r"authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:(?:bearer|basic|token|digest|apikey)\s{1,3})?([\w.~+/=-]{8,}+)",
        _is_header,
    ),
    _placed("bearer-token", "bearer", r"\bbearer\s{1,3}([\w.~+/=-]{16,}+)", _is_header),
    _placed("password", "passw pwd passphrase", rf"(?:{_PASSWORD_KEY}){_IS}{_VALUE}", _is_password),
    _placed("secret", "secret", rf"secret{_IS}{_VALUE}", _is_password),
    _placed("secret", "token key credential", rf"(?:{_TOKEN_KEY}){_IS}{_VALUE}", _is_token),
    _placed("password", "--", rf"{_FLAG}(?:{_PASSWORD_KEY}|secret)\s{{1,3}}{_VALUE}", _is_password),
    _placed("secret", "--", rf"{_FLAG}(?:{_TOKEN_KEY})\s{{1,3}}{_VALUE}", _is_token),
)

# No possessive quantifier over a group: Python 3.11.2 matches those wrongly. The alternatives share no first character,
# so there is nothing to go back to.
_PEM = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"((?:[^-]|-(?!----))*)(-----END [A-Z0-9 ]{0,60}-----)?"
)
_PEM_LINES = re.compile(r"(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{16,}+)+")
_KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/=]{24}")


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """`text` with every credential replaced, and the kinds that were found, each once. Linear in the text.

    Where control or invisible characters split a credential, what comes back is the text without them.
    """
    clean, kinds = _redact(text)
    seen = visible(clean)
    if seen != clean:
        again, more = _redact(seen)
        if more:
            return again, tuple(dict.fromkeys((*kinds, *more)))
    return clean, kinds


def _redact(text: str) -> tuple[str, tuple[str, ...]]:
    found: dict[str, None] = {}
    if "PRIVATE KEY" in text:
        text = _noting(found, "private-key", text, _PEM.sub(_without_key, text))
    for pattern in _PREFIXED:
        text = _noting(found, pattern.kind, text, pattern.sub(text, text))
    lower = text.lower()
    for pattern in _PLACED:
        text = _noting(found, pattern.kind, text, pattern.sub(text, lower))
    return text, tuple(found)


def redact_json(value: object) -> object:
    """A JSON value with every string and every key redacted, and the values of keys such as `password` judged as such.

    At most 64 levels deep; what lies deeper becomes `[redacted:too-deep]`.
    """
    return _walk(value, MAX_DEPTH)


def _noting(found: dict[str, None], kind: str, before: str, after: str) -> str:
    if before != after:
        found[kind] = None
    return after


def _without_key(block: re.Match[str]) -> str:
    """A private key, or what is left of one, without its key; a mention of the header as it is."""
    body, end = block[1], block[2]
    if end:
        return "[redacted:private-key]" if _KEY_MATERIAL.search(body) else block[0]
    lines = _PEM_LINES.match(body)
    return f"[redacted:private-key]{body[lines.end() :]}" if lines else block[0]


_PASSWORD_NAME = re.compile(rf"{_PASSWORD_KEY}|secret", re.IGNORECASE)
_TOKEN_NAME = re.compile(rf"(?:{_TOKEN_KEY}|authorization)", re.IGNORECASE)


def _walk(value: object, depth: int) -> object:
    if isinstance(value, str):
        return redact(value)[0]
    if not isinstance(value, (Mapping, list, tuple)):
        return value
    if not depth:
        return _TOO_DEEP
    if isinstance(value, Mapping):
        clean: dict[object, object] = {}
        for key, item in value.items():
            name = redact(key)[0] if isinstance(key, str) else key
            while name in clean:
                name = f"{name}'"
            clean[name] = _under(key, item) or _walk(item, depth - 1)
        return clean
    items = [_walk(item, depth - 1) for item in value]
    return items if isinstance(value, list) else tuple(items)


def _under(key: object, item: object) -> str:
    """The replacement of `item` where its key says that it is a secret and its looks agree; else empty."""
    if not (isinstance(key, str) and isinstance(item, str) and 6 <= len(item) <= 4096):
        return ""
    if _PASSWORD_NAME.search(key) and _is_password(item):
        return "[redacted:password]"
    return "[redacted:secret]" if _TOKEN_NAME.search(key) and _is_token(item) else ""
