"""Validation rounds: single flight, in the background, never in a turn's way."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence

from ruleproof.core.verdict import Verdict
from ruleproof.engine.recheck import Rechecks
from ruleproof.engine.validate import Validator, announce_fallback, validate_candidates
from ruleproof.engine.workspace import Workspace

log = logging.getLogger("ruleproof")
BREATH_S = 0.01
"""The report that asks for a round returns before the round begins, and one round serves a burst of reports."""


class Rounds:
    """At most one round at a time; a kick during a round leads to one more after it."""

    def __init__(
        self,
        workspace: Workspace,
        validators: Sequence[Validator],
        rechecks: Rechecks | None = None,
        *,
        replay: bool = False,
    ) -> None:
        self._workspace, self._validators, self._replay = workspace, validators, replay
        self._rechecks = rechecks
        self._flight = threading.Lock()
        self._mutex = threading.Lock()
        self._idle = threading.Event()
        self._idle.set()
        self._again = False
        self._announced = False

    def kick(self) -> None:
        """Ask for a round soon; returns at once."""
        with self._mutex:
            self._again = True
            if not self._idle.is_set():
                return
            self._idle.clear()
        threading.Thread(target=self._fly, daemon=True, name="ruleproof-validate").start()

    def _fly(self) -> None:
        threading.Event().wait(BREATH_S)
        while True:
            with self._mutex:
                if not self._again:
                    self._idle.set()
                    return
                self._again = False
            try:
                self.run()
            except Exception:
                log.exception("a validation round failed; the candidates stay what they are")

    def run(self) -> list[Verdict]:
        """One round now, after any round in flight: its verdicts on candidates, then on rules that are rechecked."""
        with self._flight:
            if not self._replay and not self._announced and self._workspace.refresh().candidates():
                self._announced = True
                announce_fallback(self._workspace)
            verdicts = asyncio.run(validate_candidates(self._workspace, self._validators))
            return [*verdicts, *(self._rechecks.run() if self._rechecks is not None else ())]

    def drain(self, timeout_s: float) -> bool:
        """Wait until no round is in flight, whoever started it. False when time ran out."""
        if not self._idle.wait(timeout_s) or not self._flight.acquire(timeout=timeout_s):
            return False
        self._flight.release()
        return True
