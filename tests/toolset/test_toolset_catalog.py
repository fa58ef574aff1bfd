"""The catalog is closed: which tools there are, which arguments they take, and what none of them can do."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from typing import Any

import pytest

from ruleproof.core.render import PREAMBLE
from ruleproof.toolset import catalog
from ruleproof.toolset.catalog import TOOLS
from ruleproof.toolset.spec import Tool, input_schema

ARGUMENTS = {
    "harness_mailbox_list": [],
    "harness_mailbox_read": ["notice_id*"],
    "harness_mailbox_ack": ["notice_id*", "rule_id", "note"],
    "harness_trace_inspect": ["trace_id*"],
    "harness_history": ["metric*", "session_id", "limit"],
    "harness_journal": ["limit", "types"],
    "harness_rule_add": ["rule*", "rationale*", "notice_id", "metric", "tags"],
    "harness_rule_retire": ["rule_id*", "reason"],
    "harness_rule_status": ["rule_id*"],
    "harness_rules_search": ["query*", "limit", "status"],
    "harness_rules_list": ["status", "offset"],
    "harness_reflect": [],
    "harness_evalset_list": ["kind", "offset"],
    "harness_evalset_attach": ["case_id*", "replay_input*"],
    "chapters_rule_propose": ["category*", "text*", "topics", "amends"],
    "chapters_search": ["query*", "category", "limit"],
}
PERSONS_ACTS = (
    "promot", "approv", "accept", "resum", "unpause", "forget", "again", "retry", "trust", "author", "held", "force",
    "activate", "repair", "mode", "config",
)  # fmt: skip


def test_the_tools_and_their_arguments_are_exactly_these() -> None:
    found = {}
    for tool in TOOLS:
        schema = input_schema(tool)
        found[tool.name] = [name + "*" * (name in schema["required"]) for name in schema["properties"]]
    assert found == ARGUMENTS
    assert [tool.name for tool in TOOLS] == list(ARGUMENTS), "and no name stands twice"


@pytest.mark.parametrize("word", PERSONS_ACTS)
def test_no_tool_and_no_argument_is_named_after_an_act_of_a_person(word: str) -> None:
    names = [name for name, arguments in ARGUMENTS.items() for name in (name, *arguments)]
    assert not [name for name in names if word in name]


@pytest.mark.parametrize("word", ["promote", "approve", "accept", "resume", "again", "trust", "author", "status"])
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_an_argument_that_would_do_a_persons_act_is_refused_wherever_it_is_tried(
    tool: Tool, word: str, place: Any
) -> None:
    if f"{word}" in ARGUMENTS[tool.name]:
        return
    rule = place.well("harness_rule_add", rule="Look before you leap.", rationale="fell")["rule"]
    given = {"rule": "x", "rationale": "y", "rule_id": rule["id"], "notice_id": "n-1", "trace_id": "t", "query": "q"}
    args = {name.rstrip("*"): given.get(name.rstrip("*"), "m") for name in ARGUMENTS[tool.name] if name.endswith("*")}
    before = (place.root / "rules.jsonl").read_bytes()
    error = place.ill(tool.name, **args, **{word: True})
    assert error.startswith(f"Refused: {tool.name}: there is no argument '{word}'.")
    assert (place.root / "rules.jsonl").read_bytes() == before


def test_a_tool_that_does_not_exist_is_named_and_the_others_are_listed(place: Any) -> None:
    for name in ("harness_rule_approve", "harness_rule_promote", "", "HARNESS_JOURNAL", "harness_evalset_remove"):
        error = place.ill(name)
        assert error.startswith(f"NotFound: There is no tool '{name}'.")
        assert all(known in error for known in ARGUMENTS)


def test_schemas_are_flat_and_describe_every_argument() -> None:
    for tool in TOOLS:
        schema = input_schema(tool)
        assert set(schema) == {"type", "properties", "required", "additionalProperties"}
        assert schema["type"] == "object" and schema["additionalProperties"] is False
        assert "$ref" not in json.dumps(schema) and "$defs" not in json.dumps(schema)
        for name, argument in schema["properties"].items():
            kinds = ("string", "integer", "array", *([None] if name == "replay_input" else []))
            assert argument.get("type") in kinds, (tool.name, name)
            assert len(argument["description"]) > 10
            assert not {"anyOf", "allOf", "oneOf", "title", "$ref"} & set(argument)
            if argument.get("type") == "array":
                assert argument["items"] == {"type": "string"}
            if name == "status":
                assert argument["enum"] == ["candidate", "active", "retired"]


def test_what_a_model_pays_for_the_tools_each_turn_is_bounded() -> None:
    size = len(json.dumps([[tool.name, tool.description, input_schema(tool)] for tool in TOOLS]))
    assert size < 7000


def test_every_handler_of_the_package_is_in_the_catalog() -> None:
    modules = [module for name, module in vars(catalog).items() if name.startswith("handlers_")]
    assert len(modules) == 6
    taken = {tool.run for tool in TOOLS}
    for module in modules:
        for name, value in inspect.getmembers(module, inspect.isfunction):
            if value.__module__ == module.__name__ and list(inspect.signature(value).parameters)[1:] in (
                ["args"],
                ["_"],
            ):
                assert value in taken, name


def test_the_preamble_of_every_context_lists_exactly_the_tools_about_learned_rules() -> None:
    listed = re.findall(r"^\| `(harness_\w+)` \|", PREAMBLE, re.MULTILINE)
    assert listed == [tool.name for tool in TOOLS if tool.name.startswith("harness_")]


def test_a_spec_binds_name_description_schema_and_an_async_handler(place: Any) -> None:
    specs = place.toolset.specs()
    assert tuple(spec.name for spec in specs) == place.toolset.names() == tuple(ARGUMENTS)
    listed = next(spec for spec in specs if spec.name == "harness_rules_list")
    assert listed.description and listed.input_schema["properties"]["status"]["enum"]
    assert asyncio.run(listed.handler({})) == {"ok": True, "rules": [], "total": 0, "next_offset": None}
    assert asyncio.run(listed.handler(None))["ok"] is True
    assert asyncio.run(place.toolset.call("harness_rules_list")) == place.call("harness_rules_list")
