"""Project keys: one for every address of a repository, another for every other repository, never a credential."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.core.ids import component
from ruleproof.core.projectkey import canonical_remote, choose_remote, project_key, without_secret

SAME = [
    "https://github.com/acme/api",
    "https://github.com/acme/api.git",
    "https://github.com/Acme/API.git/",
    "http://github.com/acme/api",
    "https://user:s3cret@github.com/acme/api.git",
    "https://x-access-token@github.com:443/acme/api.git",
    "https://github.com/acme/api.git?token=abc",
    "https://github.com//acme//api",
    "git@github.com:acme/api.git",
    "git@github.com:/acme/api",
    "github.com:acme/api",
    "ssh://git@github.com/acme/api.git",
    "ssh://git@github.com:22/acme/api",
    "ssh://git@ssh.github.com:443/acme/api.git",
    "git+ssh://git@github.com/acme/api",
    "git://github.com/acme/api.git",
    "git://github.com:9418/acme/api.git",
    "  https://github.com/acme/api  ",
]


@pytest.mark.parametrize("url", SAME)
def test_every_address_of_one_repository_is_one_project(url: str) -> None:
    assert canonical_remote(url) == "github.com/acme/api"
    assert project_key(url, "/somewhere").key == str(uuid.uuid5(uuid.NAMESPACE_URL, "github.com/acme/api"))


@pytest.mark.parametrize(
    "url",
    [
        "git@ssh.dev.azure.com:v3/org/project/repo",
        "https://org@dev.azure.com/org/project/_git/repo",
        "https://dev.azure.com/org/project/_git/repo",
    ],
)
def test_the_two_shapes_of_one_host_that_writes_its_paths_differently_are_one(url: str) -> None:
    assert canonical_remote(url) == "dev.azure.com/org/project/repo"


def test_other_repositories_have_other_keys() -> None:
    urls = [
        "https://github.com/acme/api",
        "https://github.com/acme%20api",
        "https://github.com/acme-api",
        "https://gitlab.com/acme/api",
        "https://github.com/acme/api2",
        "https://git.example.com:8443/acme/api",
        "https://git.example.com/acme/api",
        "/srv/git/acme/api.git",
        "/srv/git/Acme/api.git",
        "C:\\git\\acme\\api",
    ]
    assert len({project_key(url, "/x").key for url in urls}) == len(urls)


@pytest.mark.parametrize(
    "url",
    [
        "/srv/git/api.git",
        "file:///srv/git/api.git",
        "file://localhost/srv/git/api",
        "/srv/git/api/",
        "/srv//git/./api/.git",
    ],
)
def test_a_local_remote_is_its_path_with_its_case(url: str) -> None:
    assert canonical_remote(url) == "file:///srv/git/api"


def test_without_a_remote_the_key_comes_from_the_path_and_says_so() -> None:
    key = project_key(None, "/home/a/proj")
    assert (key.source, key.canonical) == ("path", "path:///home/a/proj")
    assert "no remote" in key.note and "/home/a/proj" in key.note
    assert key.key != project_key("/home/a/proj", "/x").key
    assert project_key("https://github.com/acme/api", "/x").note == ""


def test_a_key_set_by_hand_wins_and_says_so() -> None:
    key = project_key("https://github.com/acme/api", "/x", override="acme")
    assert key.source == "override" and key.note


def test_origin_names_the_project_else_the_first_by_name() -> None:
    assert choose_remote({}) is None
    assert choose_remote({"upstream": "u", "origin": "o"}) == "o"
    assert choose_remote({"zeta": "z", "backup": "b"}) == "b"
    assert choose_remote({"fork": "f"}) == "f"


@given(st.text(max_size=60))
def test_any_text_gives_a_key_that_can_name_a_folder(text: str) -> None:
    key = project_key(text, "/x")
    assert component(key.key, "project") == key.key
    without_secret(text)


@pytest.mark.parametrize(
    "url",
    [
        "https://u:s3cret@h.example/p.git",
        "https://s3cret@h.example/p.git?x=s3cret#s3cret",
        "ssh://u:s3cret@h.example:2222/p",
    ],
)
def test_no_credential_survives(url: str) -> None:
    assert "s3cret" not in without_secret(url)
    assert "s3cret" not in project_key(url, "/x").canonical
    assert "h.example" in without_secret(url)
