"""G9: a file that is shared holds no credential of any known kind; which kinds went is said, and twice is once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conformance.desk import Desk

from ruleproof.core.secrets import redact

BODY = "q7Zk2Pw9Xt4Vb8Nm3Rc6Ys1D"
PLANTED = {
    "private-key": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{BODY * 3}\n{BODY * 3}\n-----END OPENSSH PRIVATE KEY-----",
    "aws-key": "AKIA" + "Q7ZK2PW9XT4VB8NM",
    "github-token": f"ghs_{BODY}",
    "openai-key": f"sk-{BODY}",
    "jwt": f"eyJ{BODY}.{BODY}.{BODY}",
    "bearer-token": f"Bearer {BODY}",
    "secret": f"https://example.org/z?a=b&key={BODY}",
    "password": "postgres://app:s3cr3tPw9@db.example.com/x",
}


@pytest.mark.parametrize("kind", PLANTED)
def test_g9_each_kind_of_credential_is_gone_from_the_file_its_label_and_the_prose_stay(
    tmp_path: Path, kind: str
) -> None:
    desk = Desk(tmp_path / "a", tmp_path / "pool")
    text = f"Before a restore use {PLANTED[kind]} and nothing else."
    made = desk.governance.propose("security", text, evidence={"quoted": text})
    assert made.checked.redacted[:1] == (kind,) and "evidence" in made.checked.redacted
    rule = made.rule
    assert f"[redacted:{kind}]" in rule.text
    assert rule.text.startswith("Before a restore use ") and rule.text.endswith(" and nothing else.")
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert BODY.encode() not in held and b"s3cr3tPw9" not in held
    assert redact(rule.text) == (rule.text, ()), "twice is once"
    again = desk.governance.propose("security", text, evidence={"quoted": text})
    assert (again.created, again.rule.id) == (False, rule.id), "the same secret gives the same text"
