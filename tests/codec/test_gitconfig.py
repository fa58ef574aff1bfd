"""Git's config: the remotes that git itself would name, and no exception for any text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ruleproof.codec.gitconfig import remotes, settings

CONFIG = r"""
# comment
[core]
	bare = false ; trailing comment
	ignorecase
[remote "origin"] url = "git@github.com:acme/api.git"   # address
	fetch = +refs/heads/*:refs/remotes/origin/*
[Remote "back\\up \"x\""]
	URL = https://host/a;b
	url = https://second
[remote "long"]
	url = https://host/\
one
[remote.old]
	url = /srv/git/x.git
[url "git@github.com:"]
	insteadOf = gh:
	insteadOf = "hub "
[url "git@github.com:acme/"]
	insteadOf = gh:a/
[remote "short"]
	url = gh:acme/web
[remote "longest"]
	url = gh:a/web
[remote "empty"]
	url =
"""


def test_remotes_are_read_as_git_reads_them() -> None:
    assert remotes(CONFIG) == {
        "origin": "git@github.com:acme/api.git",
        'back\\up "x"': "https://host/a",
        "long": "https://host/one",
        "old": "/srv/git/x.git",
        "short": "git@github.com:acme/web",
        "longest": "git@github.com:acme/web",
    }


def test_a_users_own_file_gives_the_shorthands() -> None:
    assert remotes('[url "https://github.com/"]\ninsteadOf = g:\n', '[remote "origin"]\nurl = g:a/b\n') == {
        "origin": "https://github.com/a/b"
    }


def test_a_whole_address_stays_as_it_is_written_whatever_mirror_this_user_has() -> None:
    mirrors = """
[url "https://mirror.corp.example/"]
	insteadOf = https://github.com/
	insteadOf = git@github.com:
	insteadOf = /srv/
	insteadOf = gh:
"""
    for url in ("https://github.com/acme/api", "git@github.com:acme/api", "/srv/git/api.git", "../api.git"):
        assert remotes(mirrors, f'[remote "origin"]\nurl = {url}\n') == {"origin": url}
    assert remotes(mirrors, '[remote "origin"]\nurl = gh:acme/api\n') == {
        "origin": "https://mirror.corp.example/acme/api"
    }


def test_a_key_without_a_value_is_true_and_inner_blanks_stay() -> None:
    found = {setting.key: setting.value for setting in settings('[a]\nx\ny = p  q  \nz = "  s "\n')}
    assert found == {"x": "true", "y": "p  q", "z": "  s "}


@given(st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    list(settings(text))
    list(settings("[a]\nk = " + text))
    list(settings("[" + text))
