"""The demo: a shop's agent loses money, is told so, writes a rule, and the rule is tried on later customers.

This is the whole loop through the public API: turns, scores, notice, rule, trial, verdict. `run` returns a `Trip` with
every figure; nothing in it is made up, all are read back from the shop's database and the harness's workspace.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ruleproof.config import HarnessConfig
from ruleproof.core.score import Score
from ruleproof.demo.agent import CHECKED, Agent, Conversation, call
from ruleproof.demo.shop import Shop, tool_list
from ruleproof.demo.trip import Customer, Judged, Trip, judged
from ruleproof.edge import fs
from ruleproof.edge.evaluators.trace import TraceEvaluator
from ruleproof.engine.ports import Turn
from ruleproof.engine.validate import announce_fallback
from ruleproof.errors import Refused
from ruleproof.harness import Harness

SEED = 7
"""Drawn so that customers meet time-outs both before and after the rule; another seed is another shop."""
TASK_HINT = "charge a customer payment"
Watch = Callable[[str], None]


def run(folder: Path, agent: Agent, *, sessions: int = 10, seed: int = SEED, watch: Watch = lambda _: None) -> Trip:
    """Serve `sessions` (>= 6) customers, let the agent learn, serve as many again. Everything is kept in `folder`.

    `watch` is told after each customer. Raises Refused where the folder is not empty.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise Refused(f"{folder} is not an empty folder.", hint="Name one that is empty or does not exist yet.")
    folder.mkdir(parents=True, exist_ok=True)
    shop = Shop(folder / "shop.db", count=2 * sessions, seed=seed)
    harness = Harness.create(
        # a working day passes in seconds here, and the circuit breaker counts notices in ten minutes
        HarnessConfig(harness_root=folder / ".ruleproof", circuit_breaker_max_notices=0),
        evaluator=Evaluator(shop),
    )
    announce_fallback(harness.workspace, aloud=False)  # nothing of a shop's day can be replayed
    till = Till(harness, shop, agent, watch)
    before = till.serve(shop.orders[:sessions])
    notices = call(harness.toolset, "harness_mailbox_list")["status"]["pending_count"]
    lesson = agent.learn(harness.toolset) if notices and not agent.gave_up else None
    rule_id = lesson.rule_id if lesson else None
    after = till.serve(shop.orders[sessions:]) if rule_id else ()
    verdict = _verdict(harness, rule_id, before, after) if rule_id else None
    harness.close()
    return Trip(
        agent=agent.name,
        folder=str(folder),
        seed=seed,
        before=before,
        after=after,
        notices=notices,
        lesson=lesson,
        verdict=verdict,
        gave_up=agent.gave_up,
        findings=tuple(agent.findings),
        calls=agent.calls,
    )


def _verdict(harness: Harness, rule_id: str, before: Sequence[Customer], after: Sequence[Customer]) -> Judged:
    rule, trial = harness.rules.get(rule_id), harness.rules.trial(rule_id)
    return judged(rule, trial, harness.config.rule_promote_margin, before, after)


class Till:
    """Serves customers, one session each."""

    def __init__(self, harness: Harness, shop: Shop, agent: Agent, watch: Watch) -> None:
        self._harness, self._shop, self._agent, self._watch = harness, shop, agent, watch

    def serve(self, orders: Iterable[str]) -> tuple[Customer, ...]:
        """One session a customer, until the agent gives up."""
        return tuple(self._session(order_id) for order_id in orders if not self._agent.gave_up)

    def _session(self, order_id: str) -> Customer:
        talk = Conversation(self._shop, f"Please charge order {order_id} to my card.")
        with self._harness.turn(f"session-{order_id}", task_id=order_id) as turn:
            context = self._harness.system_context(TASK_HINT)
            self._agent.serve(order_id, context, talk)
            turn.messages = talk.messages
            turn.end_state |= {"tools": tool_list(), "order_id": order_id, "outage": talk.outage}
        handled = self._harness.wait(turn.session_id)  # the scores are in, and trials have seen the session
        asyncio.run(self._harness.drain_validation())  # and if they had seen enough, a verdict stands
        scores = {score.metric: score.value for score in handled.report.scores} if handled else {}
        customer = Customer(turn.session_id, order_id, self._shop.books(order_id), scores, context, talk.outage)
        self._keep(talk, customer)
        self._watch(customer.line)
        return customer

    def _keep(self, talk: Conversation, customer: Customer) -> None:
        """The conversation, in a form that `ruleproof ingest` reads."""
        record = {"id": customer.session_id, "task_id": customer.order_id, "messages": talk.messages}
        line = json.dumps({**record, "reward": customer.outcome}) + "\n"
        fs.append(self._shop.file.with_name("conversations.jsonl"), line.encode(), sync=False)


class Evaluator:
    """Scores a session: `outcome` from a check of the books, the rest from what the messages show."""

    def __init__(self, shop: Shop) -> None:
        self._shop, self._trace = shop, TraceEvaluator(thresholds={})

    def __call__(self, turn: Turn) -> tuple[Score, ...]:
        """Was the order charged exactly once? A session that an outage cut short has no scores: it proves nothing."""
        state: Mapping[str, object] = turn.end_state
        if state["outage"]:
            return (Score(CHECKED, None, source="checker", reason=str(state["outage"])),)
        books = self._shop.books(str(state["order_id"]))
        found = f"the order was charged {books.charges} times, {books.charges - books.kept} of them paid back"
        return (Score(CHECKED, float(books.kept == 1), source="checker", reason=found), *self._trace(turn))
