"""The router scenario: mistakes become eval cases, and three rules are tried on them by paired replays.

All through the public API: turns that a checker scores, captured failures and wins, `replay=`, `validate_candidates`.
The rules are ours, as a person would guess them; whether one helps is for the verdicts to say. The pass rate over all
messages is measured beside the trial and decides nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ruleproof.config import HarnessConfig
from ruleproof.core.evalcase import EvalCase
from ruleproof.core.score import Score
from ruleproof.core.verdict import Verdict
from ruleproof.demo.router import Router
from ruleproof.demo.router_desk import MESSAGES, Message
from ruleproof.demo.router_seen import Guess, Routed, Seen, Tried
from ruleproof.engine.ports import Turn
from ruleproof.errors import Refused, SourceError
from ruleproof.harness import Harness

Watch = Callable[[str], None]
MOST_ROUNDS = 4
"""Of replays of one rule; what is not decided then stays undecided."""
MOST_PAIRS = 30
"""Two rounds of three failures, five replays each with and without the rule: a suspicion is confirmed in the second."""
GUESSES = (
    Guess("vague", "billing", "Read the whole message before you choose.", "does nothing for its target"),
    Guess("broad", "shipping", "Every message about an item goes to shipping.", "helps its target, harms others"),
    Guess(
        "narrow",
        "technical",
        "If something of the website or the app does not work, the queue is technical.",
        "helps, and harms nothing",
    ),
)


def run(folder: Path, router: Router, *, guesses: Sequence[Guess] = GUESSES, watch: Watch = lambda _: None) -> Seen:
    """Sort all messages without a rule, then try each guess in turn. Everything is kept in `folder`.

    `watch` is told how far it is. Raises Refused where the folder is not empty.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise Refused(f"{folder} is not an empty folder.", hint="Name one that is empty or does not exist yet.")
    desk = Desk(folder, router, watch)
    plain = desk.serve()
    now, tried = plain, []
    for guess in guesses:
        if router.gave_up:
            break
        tried.append(desk.attempt(guess, now))
        if tried[-1].status == "active":
            now = tried[-1].routed
    cases = desk.harness.evalset.listed()
    desk.harness.close()
    return Seen(
        router=router.name,
        folder=str(folder),
        plain=plain,
        tried=tuple(tried),
        cases=(sum(case.kind == "failure" for case in cases), sum(case.kind == "win" for case in cases)),
        calls=router.calls,
        seconds=desk.seconds,
        gave_up=router.gave_up,
    )


class Desk:
    """The support desk: one harness, one router."""

    def __init__(self, folder: Path, router: Router, watch: Watch) -> None:
        self._router, self._watch = router, watch
        self._started, self._replays, self._doing = time.monotonic(), 0, ""
        settings = HarnessConfig(
            harness_root=folder / ".ruleproof",
            capture_eval_cases=True,
            eval_case_auto_wins=len(MESSAGES),
            replay_policy="paired",
            replay_max_pairs=MOST_PAIRS,
            circuit_breaker_max_notices=0,  # a day's mail passes in a minute here
        )
        self.harness = Harness.create(settings, evaluator=check, replay=self.replay)

    @property
    def seconds(self) -> float:
        """Since the desk opened."""
        return time.monotonic() - self._started

    def serve(self) -> tuple[Routed, ...]:
        """Every message once, one session each: what goes wrong is noticed and captured, what goes right, too."""
        self._doing = "without rules"
        found = []
        for message in MESSAGES:
            if self._router.gave_up:
                break
            with self.harness.turn(f"live-{message.id}", task_id=message.id) as turn:
                routed = self._route(message)
                turn.end_state |= {"message_id": message.id, "answer": routed.answer, "outage": routed.outage}
            self.harness.wait(turn.session_id)
            found.append(routed)
        return tuple(found)

    def attempt(self, guess: Guess, before: tuple[Routed, ...]) -> Tried:
        """Add the rule, measure it over all messages, and ask for rounds of replays until there is a verdict."""
        calls, seconds = self._router.calls, self.seconds
        if not self.harness.evalset.matching([f"breach:{guess.queue}"]):
            return Tried(
                guess, before=before, problem=f"no message of {guess.queue} went wrong, so there is none to mend"
            )
        rule = self.harness.rules.add(guess.text, metric=guess.queue)
        self._doing = f"with the {guess.name} rule"
        routed = tuple(self._route(message) for message in MESSAGES if not self._router.gave_up)
        self._doing = f"replays for the {guess.name} rule"
        verdict = self._verdict(rule.id)
        after = self.harness.rules.get(rule.id)
        if after.status == "candidate":
            self.harness.rules.retire(rule.id, reason="undecided; the demo goes on without it")
        return Tried(
            guess,
            rule_id=rule.id,
            status=after.status,
            words=verdict.reason if verdict else "",
            details=verdict.details if verdict else {},
            routed=routed,
            before=before,
            calls=self._router.calls - calls,
            seconds=self.seconds - seconds,
            problem="" if after.status != "candidate" else f"no verdict after {MOST_ROUNDS} rounds of replays",
        )

    def _verdict(self, rule_id: str) -> Verdict | None:
        last = None
        for _ in range(MOST_ROUNDS):
            if self._router.gave_up:
                break
            verdicts = asyncio.run(self.harness.validate_candidates())
            last = next((verdict for verdict in verdicts if verdict.rule_id == rule_id), None)
            if last is None or last.decided:
                break
        return last

    def replay(self, case: EvalCase, _: str) -> dict[str, object]:
        """Sort a captured message again; `harness.context()` is that of the replay then."""
        self._replays += 1
        given = case.replay_input
        wanted = given.get("message_id") if isinstance(given, dict) else None
        message = next(one for one in MESSAGES if one.id == wanted)
        routed = self._route(message)
        return {
            "session_id": f"replay-{self._replays}",
            "end_state": {"message_id": message.id, "answer": routed.answer, "outage": routed.outage},
        }

    def _route(self, message: Message) -> Routed:
        rules = [self.harness.rules.get(rule_id).rule for rule_id in self.harness.context().rules]
        try:
            routed = Routed(message.id, answer=self._router.route(message.text, rules))
        except SourceError as failure:
            routed = Routed(message.id, outage=failure.message)
        if self._router.calls % 10 == 0:
            self._watch(f"{self._doing}: {self._router.calls} calls, {self.seconds:.0f} s")
        return routed


def check(turn: Turn) -> tuple[Score, ...]:
    """The checker: one metric a queue, 1 where a message of that queue reached it; missing where nobody answered."""
    state = turn.end_state
    routed = Routed(str(state["message_id"]), str(state["answer"]), str(state["outage"]))
    reason = routed.outage or f"it went to {routed.answer}"
    return (Score(routed.message.queue, routed.right, source="checker", reason=reason),)
