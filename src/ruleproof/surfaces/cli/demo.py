"""`ruleproof demo`: the whole loop, seen happening on a fresh machine, with a scripted agent or with a real model."""

from __future__ import annotations

import difflib
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

import typer

from ruleproof.surfaces.cli.exits import Exit
from ruleproof.surfaces.cli.layout import WIDTH, facts, heading, paragraph, table, wrap
from ruleproof.surfaces.cli.output import Output, Reply
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.demo.agent import Agent, Lesson
    from ruleproof.demo.endpoint import Endpoint
    from ruleproof.demo.trip import Judged, Trip

KEY_VARIABLE = "RULEPROOF_MODEL_KEY"


@verb(
    "ruleproof demo",
    "ruleproof demo --model http://127.0.0.1:8080/v1 --model-name qwen2.5-7b",
    "ruleproof demo --scenario router --model http://127.0.0.1:8080/v1",
    "ruleproof demo --folder ./seen --sessions 20 --json",
)
def demo(
    out: Output,
    model: Annotated[
        str | None, typer.Option(metavar="URL", help="A real model: any OpenAI-compatible endpoint.")
    ] = None,
    model_name: Annotated[str | None, typer.Option(metavar="NAME", help="The model's name there.")] = None,
    model_key: Annotated[
        str,
        typer.Option(metavar="KEY", envvar=KEY_VARIABLE, show_default=False, help="The key for it, if it wants one."),
    ] = "",
    folder: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the files go; new or empty. Without it a temporary one.")
    ] = None,
    sessions: Annotated[
        int, typer.Option(min=6, max=100, help="Customers of the shop before the rule, and again after it.")
    ] = 10,
    scenario: Annotated[
        Literal["shop", "router"], typer.Option(help="router: rules for a support desk, tried by replays on a model.")
    ] = "shop",
) -> Reply:
    """See the whole loop happen in a small shop.

    Failures, a notice, a rule, its trial, its verdict. The shop's agent works on a real SQLite database. It is a
    script; its flaw charges some customers twice. With --model a real model does the same work. Needs no network and no
    key otherwise, and touches nothing but its folder. With --scenario router a model sorts forty messages of a support
    desk, and three rules are tried on its mistakes by paired replays: about 300 calls.
    """
    if scenario == "router":
        return _router(out, _endpoint(model, model_name, model_key), folder)
    from ruleproof.demo.run import run

    agent = _agent(model, model_name, model_key)
    place = _place(folder)
    trip = run(place, agent, sessions=sessions, watch=out.note if model else lambda _: None)
    return Reply(trip.as_json(), text_of(trip), Exit.PROBLEMS if trip.gave_up else Exit.DONE)


def _place(folder: Path | None) -> Path:
    return folder.absolute() if folder else Path(tempfile.mkdtemp(prefix="ruleproof-demo-"))


def _router(out: Output, endpoint: Endpoint | None, folder: Path | None) -> Reply:
    if endpoint is None:
        raise typer.BadParameter("router needs a model: --model URL", param_hint="--scenario")
    from ruleproof.demo.router import ModelRouter
    from ruleproof.demo.router_run import run
    from ruleproof.surfaces.cli.demo_router import text_of

    router = ModelRouter(endpoint)
    seen = run(_place(folder), router, watch=out.note)
    return Reply(seen.as_json(), text_of(seen), Exit.PROBLEMS if seen.gave_up else Exit.DONE)


def _agent(url: str | None, name: str | None, key: str) -> Agent:
    endpoint = _endpoint(url, name, key)
    if endpoint is None:
        from ruleproof.demo.agent import ScriptedAgent

        return ScriptedAgent()
    from ruleproof.demo.model_agent import ModelAgent

    return ModelAgent(endpoint)


def _endpoint(url: str | None, name: str | None, key: str) -> Endpoint | None:
    """The endpoint of the options, None without one. Raises BadParameter for what is no address."""
    if url is None:
        if name is not None:
            raise typer.BadParameter("a name needs the address of an endpoint: --model URL", param_hint="--model-name")
        return None
    from ruleproof.demo.endpoint import Endpoint

    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise typer.BadParameter(f"not an address such as http://127.0.0.1:8080/v1; a key goes into {KEY_VARIABLE}",
                                 param_hint="--model")  # fmt: skip
    return Endpoint(url, name or "default", key=key)


def text_of(trip: Trip) -> str:
    """The story, for people, in the order in which it happened."""
    parts = [_opening(trip), heading("1. Customers pay"), _loss(trip)]
    if trip.lesson is not None:
        parts += [heading("2. A notice lies in the agent's mailbox"), _notice(trip, trip.lesson)]
        parts += [heading("3. The agent writes a rule"), _rule(trip, trip.lesson)]
    if trip.verdict is not None:
        parts += [heading("4. Its context changes"), _contexts(trip)]
        parts += [heading("5. As many customers again"), _money(trip)]
        parts += [heading("6. The verdict"), _verdict(trip, trip.verdict)]
    if trip.findings:
        shown = trip.findings[:10]
        lines = [paragraph(one, first="- ", indent="  ") for one in shown]
        lines += [f"... and {len(trip.findings) - len(shown)} more"] if len(trip.findings) > len(shown) else []
        parts += [heading("What went wrong on the way"), "\n".join(lines)]
    if trip.gave_up:
        parts.append(paragraph(f"The demo stopped: {trip.gave_up}"))
    return "\n\n".join([*parts, heading("Files, and what to run next"), _next(trip)])


def _opening(trip: Trip) -> str:
    if trip.calls:
        who = f"The agent is the {trip.agent}, which was asked {trip.calls} times and writes its rule itself."
    else:
        who = (
            "The agent is a script and no model: the rule that it writes stands in the script, and it obeys a rule by "
            "looking for its words in its context (ruleproof/demo/agent.py). --model puts a real one in its place."
        )
    return paragraph(
        f"An agent charges customers' cards for a shop. {who} The payment gateway is simulated: it takes the money, "
        "and sometimes its answer gets lost. The database, the scores, the notice, the trial and the verdict are real, "
        "and came about just now."
    )


def _loss(trip: Trip) -> str:
    from ruleproof.demo.shop import money
    from ruleproof.demo.trip import tally

    seen = tally(trip.before)
    none = "" if trip.notices else " No session failed, so there is no notice and nothing to learn."
    return paragraph(
        f"{seen.customers} customers, one session each. Charges that timed out after the money was taken: "
        f"{seen.timed_out}. Customers charged more than once: {seen.charged_twice} ({money(seen.cents_twice)} too "
        f"much); not at all: {seen.never_charged}.{'' if trip.gave_up else none}"
    )


def _money(trip: Trip) -> str:
    from ruleproof.demo.shop import money
    from ruleproof.demo.trip import tally

    before, after = tally(trip.before), tally(trip.after) if trip.after else None
    rows = [
        ("customers served", "customers"),
        ("time-outs after the money was taken", "timed_out"),
        ("customers charged more than once", "charged_twice"),
        ("customers not charged at all", "never_charged"),
        ("sessions that an outage cut short", "outages"),
        ("money taken beyond the price", "cents_twice"),
        ("outcome, mean (the check of the books)", "outcome"),
        ("agent_reliability, mean (the messages only)", "agent_reliability"),
    ]

    def cell(column: object, name: str) -> str | int | float | None:
        value: int | float | None = getattr(column, name, None)
        return money(int(value)) if name == "cents_twice" and value is not None else value

    cells = [(title, cell(before, name), cell(after, name)) for title, name in rows]
    return table(("", "before the rule", "after it"), cells)


def _notice(trip: Trip, lesson: Lesson) -> str:
    notice = lesson.notice
    return facts(
        [
            ("id", f"{notice['id']} ({notice['severity']}), one of {trip.notices} in the agent's mailbox"),
            ("session", notice["session_id"]),
            ("says", notice["summary"]),
            ("reason", "; ".join(metric["reason"] for metric in notice["metrics"] if metric["reason"])),
        ]
    )


def _rule(trip: Trip, lesson: Lesson) -> str:
    if lesson.rule_id is None:
        wrote = f' It wrote: "{lesson.rule}".' if lesson.rule else ""
        return paragraph(
            f"It could not write one: {lesson.problem}.{wrote} So there is nothing to try, and no verdict."
        )
    return "\n".join(
        [
            paragraph(f"{lesson.rule_id}: {lesson.rule}", indent="  "),
            paragraph(
                "It read the notice, added the rule and acknowledged the notice through the toolset "
                "(harness_mailbox_read, harness_rule_add, harness_mailbox_ack)."
            ),
        ]
    )


def _contexts(trip: Trip) -> str:
    seen = trip.contexts
    return "\n\n".join(
        [
            f"During the trial (+ is new, - is gone):\n{_changes(seen['before'], seen['trial'])}",
            f"At the end, against the trial:\n{_changes(seen['trial'], seen['end'])}",
        ]
    )


def _changes(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    changed = [line for line in list(lines)[2:] if line[1:].strip() and not line.startswith("@@")]
    return "\n".join(f"{line[0]} " + "\n    ".join(wrap(line[1:], WIDTH - 4)) for line in changed) or "nothing"


def _verdict(trip: Trip, found: Judged) -> str:
    pieces = [
        facts(
            [
                ("now", f"the rule is {'still a ' if found.status == 'candidate' else ''}{found.status}"),
                ("verdict", found.words or "none yet"),
                ("observed", f"{found.sessions} sessions, {found.breached} with a breach; {found.timed_out} of them "
                             "met a time-out, and only those could show anything"),
            ]
        )
    ]  # fmt: skip
    lost = sum(customer.books.kept > 1 for customer in trip.after)
    if found.status == "active" and lost:
        pieces.append(paragraph(f"It was promoted; customers charged more than once under it, all the same: {lost}."))
    if found.sessions:
        pieces.append(
            paragraph(
                f"How little that proves: a useless rule would have passed this gate with a chance of "
                f"{found.chance:.0%} by the baseline that the gate uses ({found.baseline_breached} of "
                f"{found.baseline_sessions} sessions, those with an incident only, so biased high), and of "
                f"{found.chance_by_all:.0%} by all customers before the rule ({found.failed} of {found.scored} "
                f"failed). If nothing had changed, {found.sessions} sessions as good as these would have come about "
                f"with a chance of {found.chance_as_good:.0%}. This shows the mechanism, and proves no rule."
            )
        )
    return "\n\n".join(pieces)


def _next(trip: Trip) -> str:
    root = str(Path(trip.folder) / ".ruleproof")
    rule_id = trip.lesson.rule_id if trip.lesson else None
    commands = ["ruleproof status", "ruleproof journal", "ruleproof context", "ruleproof calibrate"]
    if rule_id:
        commands += [f"ruleproof trial {rule_id}", f"ruleproof explain {rule_id}"]
    files = facts(
        [
            ("folder", trip.folder),
            ("shop.db", "orders and charges (SQLite)"),
            ("conversations.jsonl", "every conversation, as `ruleproof ingest` reads it"),
            (".ruleproof/", "the harness's workspace: rules, notices, journal, trials"),
        ]
    )
    shell = "\n".join(f"  {line}" for line in (f"export HARNESS_ROOT={shlex.quote(root)}", *commands))
    return f"{files}\n\n{shell}"
