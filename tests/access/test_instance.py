"""The secret key and the id that cookies carry."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.exceptions import ImproperlyConfigured

from opsboard.instance import instance_id, read_secret_key


def test_the_key_is_made_once_and_only_its_owner_reads_it(tmp_path):
    key = read_secret_key({}, tmp_path / "var")
    assert read_secret_key({}, tmp_path / "var") == key
    assert len(key) >= 50
    assert stat.S_IMODE((tmp_path / "var" / "secret_key").stat().st_mode) == 0o600


def test_many_starts_at_once_agree_on_one_key_and_leave_no_drafts(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        keys = set(pool.map(lambda _: read_secret_key({}, tmp_path), range(64)))
    assert len(keys) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]


def test_a_key_of_the_environment_wins_and_nothing_is_written(tmp_path):
    assert read_secret_key({"OPSBOARD_SECRET_KEY": "k" * 50}, tmp_path) == "k" * 50
    assert list(tmp_path.iterdir()) == []


def test_a_short_key_of_the_environment_is_refused_and_not_repeated(tmp_path):
    with pytest.raises(ImproperlyConfigured, match="too short; give it 50 random letters") as caught:
        read_secret_key({"OPSBOARD_SECRET_KEY": "hunter2"}, tmp_path)
    assert "hunter2" not in str(caught.value)


def test_a_key_that_others_can_read_is_refused(tmp_path):
    read_secret_key({}, tmp_path)
    (tmp_path / "secret_key").chmod(0o640)
    with pytest.raises(ImproperlyConfigured, match="chmod 600"):
        read_secret_key({}, tmp_path)


@pytest.mark.parametrize("damage", [b"", b"short\n", b"\xff" * 60])
def test_a_damaged_key_is_refused(tmp_path, damage):
    path = tmp_path / "secret_key"
    path.write_bytes(damage)
    path.chmod(0o600)
    with pytest.raises(ImproperlyConfigured, match="secret"):
        read_secret_key({}, tmp_path)


def test_a_folder_that_cannot_be_written_says_what_to_do(tmp_path):
    (tmp_path / "var").write_text("a file, not a folder")
    with pytest.raises(ImproperlyConfigured, match="make that folder writable or set OPSBOARD_SECRET_KEY"):
        read_secret_key({}, tmp_path / "var")


def test_two_installations_have_different_ids_and_each_keeps_its_own():
    assert instance_id({}, "a" * 50) == instance_id({}, "a" * 50)
    assert instance_id({}, "a" * 50) != instance_id({}, "b" * 50)


def test_an_id_can_be_given_but_must_fit_a_cookie_name():
    assert instance_id({"OPSBOARD_INSTANCE": "blue-1"}, "a" * 50) == "blue-1"
    with pytest.raises(ImproperlyConfigured, match="OPSBOARD_INSTANCE may hold"):
        instance_id({"OPSBOARD_INSTANCE": "a;b"}, "a" * 50)
