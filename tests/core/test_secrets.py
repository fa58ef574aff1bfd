"""Credentials are replaced, mentions of them are not."""

from __future__ import annotations

import base64
import random
import string
from pathlib import Path

import pytest
from tests.core.text_cases import HARMLESS

from ruleproof.core.secrets import MAX_DEPTH, redact, redact_json

_CHANCE = random.Random(20260101)


def _any(length: int, letters: str = string.ascii_letters + string.digits) -> str:
    return "".join(_CHANCE.choice(letters) for _ in range(length))


HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
KEY = "\n".join(base64.b64encode(_CHANCE.randbytes(48)).decode() for _ in range(8))

PLANTED = [
    ("aws-key", "AKIA" + _any(16, UPPER)),
    ("aws-key", "ASIA" + _any(16, UPPER)),
    ("github-token", "ghp_" + _any(36)),
    ("github-token", "github_pat_" + _any(22) + "_" + _any(59)),
    ("gitlab-token", "glpat-" + _any(20)),
    ("slack-token", "xoxb-" + _any(12, string.digits) + "-" + _any(24)),
    ("webhook", "https://hooks.slack.com/services/T0000/B0000/" + _any(24)),
    ("webhook", "discord.com/api/webhooks/" + _any(18, string.digits) + "/" + _any(60)),
    ("stripe-key", "sk_live_" + _any(24)),
    ("google-key", "AIza" + _any(35)),
    ("google-token", "ya29." + _any(60)),
    ("anthropic-key", "sk-ant-api03-" + _any(80) + "-" + _any(6) + "AA"),
    ("openai-key", "sk-" + _any(48)),
    ("openai-key", "sk-proj-" + _any(60) + "_-" + _any(60)),
    ("openai-key", "sk-" + "abcdefghijklmnopqrstuvwxyz123456"),
    ("hugging-face-token", "hf_" + _any(34)),
    ("npm-token", "npm_" + _any(36)),
    ("pypi-token", "pypi-" + "AgEIcHlwaS5vcmc" + _any(120)),
    ("sendgrid-key", "SG." + _any(22) + "." + _any(43)),
    ("twilio-key", "SK" + _any(32, HEX)),
    ("service-token", "dop_v1_" + _any(64, HEX)),
    ("service-token", "gsk_" + _any(52)),
    ("service-token", "hvs." + _any(90)),
    ("age-key", "AGE-SECRET-KEY-1" + _any(58, UPPER)),
    ("jwt", "eyJ" + _any(33) + ".eyJ" + _any(70) + "." + _any(43)),
    ("telegram-token", _any(9, string.digits[1:]) + ":AA" + _any(33)),
    ("password", "postgres://app:s3cr3tPw@db.example.com/x"),
    ("password", "redis://:correct-horse@localhost"),
    ("azure-key", "AccountName=x;AccountKey=" + _any(86) + "=="),
    ("signed-url", "https://x.blob.core.windows.net/a?sv=1&sig=" + _any(43)),
    ("authorization", "Authorization: Bearer abcdef1234567890"),
    ("authorization", '"authorization": "Basic dXNlcjpwYXNzd29yZA=="'),
    ("bearer-token", "send the bearer " + _any(40)),
    ("password", 'password: "Tr0ub4dor&3"'),
    ("password", "DB_PASSWORD=P@ssw0rd!"),
    ("password", "mysql --password Summer2024x -h db"),
    ("password", "the password is hunter2secret9"),
    ("secret", "aws_secret_access_key = " + _any(40)),
    ("secret", 'api_key = "abcd1234efgh5678ijkl"'),
    ("secret", '{"token": "' + _any(40, HEX) + '"}'),
    ("secret", '{\\"token\\": \\"' + _any(40, HEX) + '\\"}'),
    ("secret", "https://example.org/z?token=" + _any(24) + "&a=b"),
    ("secret", "https://example.org/z?a=b&key=" + _any(24) + "#c"),
    ("secret", "auth_token: 550e8400-e29b-41d4-a716-446655440000"),
    ("private-key", f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}\n-----END RSA PRIVATE KEY-----"),
    ("private-key", f"-----BEGIN PRIVATE KEY-----\\n{KEY.replace(chr(10), chr(92) + 'n')}\\n-----END PRIVATE KEY-----"),
    ("private-key", f"-----BEGIN EC PRIVATE KEY----- {KEY.replace(chr(10), ' ')} -----END EC PRIVATE KEY-----"),
    ("private-key", f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n{KEY}\n-----END PGP PRIVATE KEY BLOCK-----"),
    ("private-key", f"-----BEGIN EC PRIVATE KEY-----\n{KEY}"),
]  # fmt: skip

MENTIONS = [
    "never print tokens such as sk-XXXX",
    "a key looks like sk-... or sk-ant-... or AKIA...",
    "sk-XXXXXXXXXXXXXXXXXXXXXXXX",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "AKIAXXXXXXXXXXXXXXXX",
    "sk-your-api-key-here",
    "put it into <token>, never into the log",
    "the password must have 12 characters",
    "password: at least 12 characters, no spaces",
    "password=changeme",
    'password = "<your password here>"',
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer YOUR_TOKEN",
    "Bearer authentication-is-required-here",
    "postgres://user:password@host/db",
    "postgres://user:${DB_PASSWORD}@host/db",
    "git@github.com:org/repo and https://example.com:8080/@scope/pkg",
    'api_key = os.environ["OPENAI_API_KEY_2"]',
    "API_KEY=${API_KEY_2}",
    "token = get_token_v2(request)",
    "max_tokens=4096, tokens: 128000",
    "secret: projects/123/secrets/foo/versions/1",
    "secret_access_key_rotation_policy_v2",
    "-----BEGIN PRIVATE KEY----- blocks must never be printed",
    "token_model=gpt-4o-mini-2024-07-18",
    "token: claude-3-5-sonnet-20241022",
    "password: sha256-hashed",
    "token_expiry: 2024-01-01T00:00:00Z",
    "use sk-learn-contrib, npm_config_registry and hf_hub_download",
    '{"token": "string", "password": null}',
    "eyJ... is how a JWT begins",
    "the secretary: Mr. Smith2",
    "https://example.org/sheet?key=quarterly-report-2024-07 and /v1/items?key=customer_id&page=2",
]


@pytest.mark.parametrize(("kind", "text"), PLANTED)
@pytest.mark.parametrize("frame", ["{}", "Never use {} again.", "a\n{}\nb"])
def test_a_credential_goes_and_its_kind_is_told(kind: str, text: str, frame: str) -> None:
    clean, kinds = redact(frame.format(text))
    assert kinds == (kind,)
    assert f"[redacted:{kind}]" in clean
    for part in (part for part in text.replace("\\n", " ").split() if len(part) > 24 and "://" not in part):
        assert part.strip('"\\{}') not in clean
    assert redact(clean) == (clean, ())


@pytest.mark.parametrize("text", [*MENTIONS, *HARMLESS])
def test_a_mention_stays(text: str) -> None:
    assert redact(text) == (text, ())


def test_what_surrounds_a_password_in_a_url_stays() -> None:
    assert redact("postgres://app:s3cr3tPw@db/x")[0] == "postgres://app:[redacted:password]@db/x"


def test_no_tail_of_a_long_credential_is_left() -> None:
    assert redact("sk-" + _any(5000) + " end")[0] == "[redacted:openai-key] end"
    assert redact("password=" + _any(3000))[0] == "password=[redacted:password]"


def test_text_after_a_key_that_never_ends_stays() -> None:
    clean, _ = redact(f"-----BEGIN PRIVATE KEY-----\n{KEY}\nnow, some words. And more.")
    assert clean == "[redacted:private-key]\nnow, some words. And more."


@pytest.mark.parametrize("split", ["\x00", "\u200b", "\x1b[0m", "\u202e", "\U000e0041", "\x9f"])
def test_a_credential_split_by_what_cleaning_removes_goes_too(split: str) -> None:
    token = "ghp_" + _any(36)
    clean, kinds = redact(f"a\r\n{token[:9]}{split}{token[9:]} b")
    assert (clean, kinds) == ("a\n[redacted:github-token] b", ("github-token",))
    assert redact(f"a{split}b sk-XXXX\r\n") == (f"a{split}b sk-XXXX\r\n", ())


def test_several_kinds_are_told_once_each() -> None:
    text = f"sk-ant-{_any(40)} and sk-ant-{_any(40)} and ghp_{_any(36)}"
    assert redact(text)[1] == ("github-token", "anthropic-key")


def test_the_recorded_rules_hold_no_credential(data_dir: Path) -> None:
    files = [*data_dir.glob("cursor_rules/*"), *data_dir.glob("playbooks/*")]
    assert len(files) > 70
    for file in files:
        text = file.read_text("utf-8")
        assert redact(text) == (text, ()), file.name


def test_values_keys_and_nested_values_are_redacted() -> None:
    token = "ghp_" + _any(36)
    value = {"a": [token, {"b": (f"x {token}", 1, None, True)}], token: 2.5}
    assert redact_json(value) == {
        "a": ["[redacted:github-token]", {"b": ("x [redacted:github-token]", 1, None, True)}],
        "[redacted:github-token]": 2.5,
    }


def test_a_key_that_names_a_secret_says_what_its_value_is() -> None:
    assert redact_json({"password": "hunter2secret9", "api_key": "abcd1234efgh5678ijkl", "note": "hunter2secret9"}) == {
        "password": "[redacted:password]",
        "api_key": "[redacted:secret]",
        "note": "hunter2secret9",
    }
    assert redact_json({"password": "required", "max_tokens": "4096"}) == {"password": "required", "max_tokens": "4096"}


def test_two_secret_keys_do_not_swallow_each_other() -> None:
    clean = redact_json({"ghp_" + _any(36): 1, "ghp_" + _any(36): 2})
    assert isinstance(clean, dict)
    assert sorted(clean.values()) == [1, 2]


def test_what_lies_too_deep_is_not_shown() -> None:
    value: object = "ghp_" + _any(36)
    for _ in range(MAX_DEPTH + 50):
        value = [value]
    assert "too-deep" in str(redact_json(value))
    assert "ghp_" not in str(redact_json(value))


MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    "unit",
    ["secret", "secret=", "-----BEGIN PRIVATE KEY-----", "eyJ", "-eyJ", "eyJaaaaaaaa.", "://a:", "://", "sk-", "-",
     "password is ", "--token ", "a", "a1", "bearer ", "authorization: ", "1", "SG.aaaaaaaaaaaaaaaaaaaa.", "\n",
     "12345678:AA", 'token="', "password ", "key-", "AKIA", "-----BEGIN ", "token\\"],
)  # fmt: skip
def test_a_megabyte_made_to_hurt_is_read_in_one_go(unit: str) -> None:
    """A pattern that is not linear would not end here."""
    redact(unit * (MEGABYTE // len(unit)))
