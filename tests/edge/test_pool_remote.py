"""Addresses of pools, and a pool behind a login: the token goes to its host alone and stands nowhere."""

from __future__ import annotations

import base64
import io
import logging
import threading
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest

pytest.importorskip("dulwich")

from dulwich.repo import Repo
from dulwich.server import DictBackend
from dulwich.web import make_wsgi_chain
from tests.edge.machines import NOW, Machine

from ruleproof.edge.pool import Pool, SyncReport
from ruleproof.edge.pool.remote import Remote, check_address
from ruleproof.edge.pool.store import GitStore
from ruleproof.edge.rulefiles import RuleFiles
from ruleproof.errors import Refused

TOKEN = "s3cret-t0ken/with+odd=chars"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://git.example.com/team/rules.git", "https://git.example.com/team/rules.git"),
        ("  https://git.example.com/team/rules  ", "https://git.example.com/team/rules"),
        ("http://127.0.0.1:8000/r.git", "http://127.0.0.1:8000/r.git"),
        ("http://localhost/r.git", "http://localhost/r.git"),
        ("/srv/git/rules.git", "/srv/git/rules.git"),
        ("file:///srv/git/rules.git", "/srv/git/rules.git"),
        ("file://localhost/srv/git/rules.git", "/srv/git/rules.git"),
    ],
)
def test_an_address_is_https_or_a_path(text: str, address: str) -> None:
    assert check_address(text) == address


def test_a_relative_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert check_address("../team-rules.git") == str(tmp_path / ".." / "team-rules.git")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "-rf",
        "--upload-pack=touch /tmp/x",
        "ext::sh -c touch% /tmp/x",
        "fd::7",
        "git@github.com:acme/rules.git",
        "host:path",
        "ssh://git@host/rules",
        "git://host/rules",
        "ftp://host/rules",
        "http://example.com/rules",
        "http://127.0.0.1.example.com/rules",
        "http://localhost@example.com/rules",
        "https://user:s3cret@host/rules",
        "https://s3cret@host/rules",
        "https://host/rules?token=s3cret",
        "https://host/rules#s3cret",
        "https://host/a\nb",
        "/srv/\x1b[2Jrules",
    ],
)
def test_any_other_address_is_refused_before_anything_is_called_and_no_secret_is_repeated(text: str) -> None:
    with pytest.raises(Refused) as refused:
        check_address(text)
    assert "s3cret" not in str(refused.value)


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """(address, the logins that arrived, what to answer instead): a pool behind a login."""
    path = tmp_path / "team.git"
    Remote(str(path)).create()
    repo = Repo(str(path))
    application = make_wsgi_chain(DictBackend({"/team.git": repo}))
    logins: list[str] = []
    instead: list[str] = []
    wanted = "Basic " + base64.b64encode(f"ruleproof:{TOKEN}".encode()).decode()

    def guarded(environ, start_response):  # type: ignore[no-untyped-def]
        login = environ.get("HTTP_AUTHORIZATION", "")
        logins.append(login)
        if instead:
            start_response(instead[0], [("Location", "http://127.0.0.1:1/team.git/info/refs")])
            return [b"x"]
        if login != wanted:
            start_response("401 Unauthorized", [("WWW-Authenticate", 'Basic realm="x"')])
            return [b"no"]
        return application(environ, start_response)

    server = make_server("127.0.0.1", 0, guarded, WSGIServer, _Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/team.git", logins, instead
    server.shutdown()
    server.server_close()
    repo.close()


def test_a_pool_behind_a_login_is_synced_and_the_token_stands_nowhere(
    served: tuple[str, list[str], list[str]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    address, _, _ = served
    caplog.set_level(logging.DEBUG)
    a, b = (Machine(tmp_path / name, f"h{name}", Remote(address, TOKEN)) for name in ("a", "b"))
    rule = a.propose("Check the archive first.")
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        assert a.sync().published == (rule.place.path,)
        assert b.sync().received == (rule.place.path,)
        b.propose("Rule one of B.")
        assert b.sync().mode == "synced" == a.sync().mode
    assert a.texts() == b.texts()
    encoded = base64.b64encode(f"ruleproof:{TOKEN}".encode())
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        data = path.read_bytes()
        assert TOKEN.encode() not in data and encoded not in data, path
    assert TOKEN not in out.getvalue() + caplog.text + repr(a.remote)
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_missing_or_wrong_token_is_named_and_not_repeated(
    served: tuple[str, list[str], list[str]], tmp_path: Path, token: str
) -> None:
    machine = Machine(tmp_path / "a", "ha", Remote(served[0], token))
    rule = machine.propose("Check the archive first.")
    report = machine.sync()
    assert (report.mode, report.code, report.pending) == ("local-only", "auth", (rule.place.path,))
    assert "missing, wrong" in report.detail and "s3cret" not in report.detail


@pytest.mark.parametrize(
    ("answer", "code"),
    [("403 Forbidden", "auth"), ("404 Not Found", "not-found"), ("500 Oops", "network"), ("302 Found", "network")],
)
def test_every_refusal_of_a_server_is_a_reason_and_a_redirect_gets_no_token(
    served: tuple[str, list[str], list[str]], tmp_path: Path, answer: str, code: str
) -> None:
    served[2].append(answer)
    machine = Machine(tmp_path / "a", "ha", Remote(served[0], TOKEN, timeout_s=2.0))
    machine.propose("Check the archive first.")
    report = machine.sync()
    assert (report.mode, report.code) == ("local-only", code) and report.pending
    assert TOKEN not in report.detail


def test_a_redirect_to_another_origin_gets_no_token(served: tuple[str, list[str], list[str]], tmp_path: Path) -> None:
    def elsewhere(environ, start_response):  # type: ignore[no-untyped-def]
        start_response("302 Found", [("Location", f"{served[0]}/info/refs?service=git-upload-pack")])
        return [b""]

    server = make_server("127.0.0.1", 0, elsewhere, WSGIServer, _Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/team.git"
        report = Machine(tmp_path / "a", "ha", Remote(address, TOKEN, timeout_s=2.0)).sync()
    finally:
        server.shutdown()
        server.server_close()
    assert report.mode == "local-only" and served[1] and set(served[1]) == {""}


def test_a_host_that_nobody_answers_for_is_offline(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "a", "ha", Remote("http://127.0.0.1:1/r.git", TOKEN, timeout_s=1.0))
    machine.propose("Check the archive first.")
    report = machine.sync()
    assert (report.mode, report.code) == ("local-only", "network")
    assert TOKEN not in report.detail


def test_a_server_that_sends_garbage_is_a_reason_and_no_crash(tmp_path: Path) -> None:
    def garbage(environ, start_response):  # type: ignore[no-untyped-def]
        start_response("200 OK", [("Content-Type", "application/x-git-upload-pack-advertisement")])
        return [b"001e# service=git-upload-pack\n0000zzzz\xff\xfe"]

    server = make_server("127.0.0.1", 0, garbage, WSGIServer, _Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/r.git"
        report = Machine(tmp_path / "a", "ha", Remote(address, TOKEN)).sync()
    finally:
        server.shutdown()
        server.server_close()
    assert report.mode == "local-only" and report.code == "network"


def test_more_than_one_pass_may_bring_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = Remote(str(tmp_path / "team.git"))
    remote.create()
    a, b = Machine(tmp_path / "a", "ha", remote), Machine(tmp_path / "b", "hb", remote)
    a.propose("Check the archive first.")
    a.sync()
    monkeypatch.setattr("ruleproof.edge.pool.remote.MAX_PACK", 20)
    report = b.sync()
    assert (report.mode, report.code) == ("local-only", "oversize") and b.texts() == []
    monkeypatch.undo()
    assert b.sync() == SyncReport("synced", received=("rules/p-1/ha/001-security-check-the-archive-first.md",))


def test_no_address_stands_in_the_private_repositorys_config(tmp_path: Path) -> None:
    remote = Remote(str(tmp_path / "team.git"))
    remote.create()
    Pool(RuleFiles(tmp_path / "pool"), tmp_path / "state", "ha").sync(remote, dict, NOW, lambda rule: True)
    with GitStore(tmp_path / "state" / "git") as store:
        assert [section for section in store.repo.get_config().sections() if section[0] == b"remote"] == []
