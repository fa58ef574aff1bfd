"""What the journal says, folded: recent incidents for baselines, notices per metric, the last events of rules.

The journal is append-only and never trimmed; the fold keeps what questions need, not the events themselves.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Mapping, Sequence

from ruleproof.core.notice import in_family
from ruleproof.core.trial import Baseline

BASELINE_WINDOW = 200
_RECENT_RULE_EVENTS = 4096


class JournalFold:
    """Feed it every event in file order."""

    def __init__(self) -> None:
        self.events = 0
        self.rule_events: deque[str] = deque(maxlen=_RECENT_RULE_EVENTS)
        """Ids of the last events that came with a rule record."""
        self.notices: dict[str, tuple[str, ...]] = {}
        """Notice id -> its signatures, for every notice that was journaled and not in shadow mode."""
        self.retired: dict[str, str] = {}
        """Rule id -> the time of its `rule_retire` event."""
        self.verdicts: dict[str, Mapping[str, object]] = {}
        """Rule id -> the evidence of its last verdict."""
        self.announced = False
        """Whether the journal says already that forward trials decide."""
        self._incidents: deque[tuple[str, tuple[str, ...]]] = deque(maxlen=BASELINE_WINDOW)
        self._times: dict[str, list[str]] = {}
        self._all_times: list[str] = []

    def feed(self, event: Mapping[str, object]) -> None:
        """Fold one event; anything of a wrong type counts as absent."""
        self.events += 1
        kind = event.get("type")
        if isinstance(kind, str) and kind.startswith("rule_"):
            event_id, rule_id = event.get("event"), event.get("id")
            if isinstance(event_id, str):
                self.rule_events.append(event_id)
            if kind == "rule_retire" and isinstance(rule_id, str):
                self.retired[rule_id] = _text(event.get("ts"))
            evidence = verdict_of(event)
            if isinstance(rule_id, str) and evidence is not None:
                self.verdicts[rule_id] = evidence
        elif kind == "notice":
            self._feed_notice(event)
        elif kind == "validation":
            self.announced = True
        elif kind == "recovery" and isinstance(event.get("session_id"), str):
            self._incidents.append((_text(event["session_id"]), ()))

    def _feed_notice(self, event: Mapping[str, object]) -> None:
        signatures = tuple(s for s in _items(event.get("signatures")) if isinstance(s, str))
        notice_id, session_id, when = event.get("id"), event.get("session_id"), _text(event.get("ts"))
        if isinstance(notice_id, str) and event.get("observe_only") is not True:
            self.notices[notice_id] = signatures
        if event.get("source") != "ingest" and isinstance(session_id, str):
            self._incidents.append((session_id, signatures))
        insort(self._all_times, when)  # clocks go back, and writers overtake each other
        for metric in {s.partition(":")[2] for s in signatures}:
            insort(self._times.setdefault(metric, []), when)

    def baseline(self, metric: str | None) -> Baseline:
        """Share of recently journaled sessions whose notices hit the metric's family (any family without a metric).

        Recorded history that was ingested is left out: it is never trial evidence.
        """
        sessions = {session for session, _ in self._incidents}
        breached = {session for session, signatures in self._incidents if in_family(signatures, metric)}
        return Baseline(len(breached), len(sessions), len(self._incidents))

    def notices_around(self, metric: str | None, moment: str) -> tuple[int, int]:
        """How many notices of the metric (all without one) were journaled before `moment`, and since."""
        times: Sequence[str] = self._all_times if metric is None else self._times.get(metric, [])
        before = bisect_left(times, moment)
        return before, len(times) - before


def verdict_of(event: Mapping[str, object]) -> Mapping[str, object] | None:
    """The evidence of an event (or of the details of a rule record) that is a verdict; None for any other."""
    evidence = event.get("evidence")
    return evidence if event.get("type") in ("rule_promote", "rule_retire") and isinstance(evidence, dict) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else ()
