"""`harness_rules.md`: a projection of the store, never a source. Exact on return up to 200 live rules; above that it is
written at most once a second, beside the calls, and at close; `doctor` says when it is stale."""

from __future__ import annotations

import logging
import threading

from ruleproof.engine.compose import Composer
from ruleproof.engine.workspace import Workspace
from ruleproof.errors import StoreError

log = logging.getLogger("ruleproof")

EXACT_UP_TO = 200
EVERY_S = 1.0
FILE = "harness_rules.md"


class Projection:
    """Follows the commits of one workspace."""

    def __init__(self, workspace: Workspace, composer: Composer) -> None:
        self._workspace, self._composer = workspace, composer
        self._written: tuple[object, int, int] | None = None
        self._timer: threading.Timer | None = None
        self._owed = False
        """Whether this process changed something that the file does not show yet."""
        workspace.after_commit.append(self.after_commit)

    def after_commit(self) -> None:
        """Write what changed: now, or soon where many rules make it dear."""
        if self._written == self._state():
            return
        self._owed = True
        if self._workspace.rulebook.live_count <= EXACT_UP_TO:
            self._try()
        elif self._timer is None:
            self._timer = threading.Timer(EVERY_S, self._later)
            self._timer.daemon = True
            self._timer.start()

    def _later(self) -> None:
        self._timer = None
        self._try()

    def flush(self) -> None:
        """Write what this process still owes; a process that only looked writes nothing."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._owed:
            self._try()

    def _try(self) -> None:
        try:
            self.write()
        except StoreError as error:
            log.warning("%s is stale: %s", FILE, error)

    def write(self) -> None:
        """Write the full render now. Raises StoreError."""
        state, self._owed = self._state(), False
        self._workspace.ports.files.write(FILE, self._composer.full().encode("utf-8", "replace"), sync=False)
        self._written = state

    def _state(self) -> tuple[object, int, int]:
        with self._workspace.mutex:
            self._workspace.refresh_trials()
            book = self._workspace.refresh()
            return book, book.version, self._workspace.trial_version
