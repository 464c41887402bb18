"""The named job stores, as the environment gives them."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from opsboard.connections import is_demo, read_connections, require_connections, rq_queues

STORE = "redis://:s3cret@store.example:6379/0"
OTHER = "redis://:s3cret@other.example:6379/1"


def refusal(**environ):
    with pytest.raises(ImproperlyConfigured) as caught:
        read_connections(environ)
    assert "s3cret" not in str(caught.value)
    return str(caught.value)


def test_the_one_of_redis_url_is_called_default_and_reads_where_it_acts():
    assert read_connections({"REDIS_URL": STORE}) == {"default": {"url": STORE, "read_url": STORE, "prefix": "rq"}}


def test_the_default_has_a_reading_side_and_a_prefix_of_its_own():
    found = read_connections({"REDIS_URL": STORE, "REDIS_READ_URL": OTHER, "OPSBOARD_REDIS_PREFIX": "acme:rq"})
    assert found == {"default": {"url": STORE, "read_url": OTHER, "prefix": "acme:rq"}}


def test_the_prefix_that_workers_use_is_taken_over():
    assert read_connections({"REDIS_URL": STORE, "RQ_KEY_PREFIX": "{acme}"})["default"]["prefix"] == "{acme}"


def test_our_own_prefix_wins_over_that_of_the_workers():
    environ = {"REDIS_URL": STORE, "RQ_KEY_PREFIX": "theirs", "OPSBOARD_REDIS_PREFIX": "ours"}
    assert read_connections(environ)["default"]["prefix"] == "ours"


def test_more_connections_are_named_in_lower_case():
    found = read_connections(
        {
            "REDIS_URL": STORE,
            "OPSBOARD_REDIS_BIG_BOX_URL": OTHER,
            "OPSBOARD_REDIS_BIG_BOX_READ_URL": STORE,
            "OPSBOARD_REDIS_BIG_BOX_PREFIX": "big",
        }
    )
    assert list(found) == ["default", "big-box"]
    assert found["big-box"] == {"url": OTHER, "read_url": STORE, "prefix": "big"}


def test_the_prefix_of_the_default_does_not_leak_to_others():
    found = read_connections({"REDIS_URL": STORE, "OPSBOARD_REDIS_PREFIX": "a", "OPSBOARD_REDIS_B_URL": OTHER})
    assert found["b"]["prefix"] == "rq"


@pytest.mark.parametrize(
    "address",
    [
        "redis://h:6379/0",
        "redis://h",
        "rediss://user:p%40ss@h:6380/2",
        "unix:///run/valkey/valkey.sock?db=1",
        "redis://[::1]:6379/0",
        "redis+sentinel://user:p@a:26379,b:26379/primary/0",
        "redis+sentinel://a:26379/primary",
    ],
)
def test_every_kind_of_address_is_taken(address):
    assert read_connections({"REDIS_URL": address})["default"]["url"] == address


@pytest.mark.parametrize(
    "address",
    [
        "http://:s3cret@h:6379/0",
        "redis://:s3cret@:6379/0",
        "redis://:s3cret@h:port/0",
        "redis://:s3cret@h:99999/0",
        "valkey://:s3cret@h:6379",
        "s3cret",
    ],
)
def test_an_address_that_cannot_be_read_names_the_variable_and_an_example_only(address):
    assert refusal(REDIS_URL=address) == "REDIS_URL can't be read; write it like redis://:PASSWORD@HOST:6379/0."


@pytest.mark.parametrize("rest", ["a:26379", "a:26379/", "a/primary", "a:26379/primary/x", ":26379/primary"])
def test_a_sentinel_address_needs_nodes_and_a_service(rest):
    assert "write it like redis+sentinel://" in refusal(OPSBOARD_REDIS_A_URL=f"redis+sentinel://:s3cret@{rest}")


def test_a_reading_side_alone_is_refused():
    assert refusal(REDIS_READ_URL=STORE) == "REDIS_READ_URL is only the reading side; set REDIS_URL too."


def test_a_named_connection_needs_an_address():
    assert "set OPSBOARD_REDIS_BIG_URL" in refusal(OPSBOARD_REDIS_BIG_PREFIX="x")


@pytest.mark.parametrize("name", ["DEFAULT", "READ", "A" * 65, "_"])
def test_a_name_that_is_taken_or_misleading_is_refused(name):
    assert "name" in refusal(REDIS_URL=STORE, **{f"OPSBOARD_REDIS_{name}_URL": OTHER})


@pytest.mark.parametrize("prefix", ["a b", "a*", "ü", "x" * 65])
def test_a_prefix_that_rq_itself_would_refuse_is_refused(prefix):
    assert "OPSBOARD_REDIS_PREFIX may hold letters" in refusal(REDIS_URL=STORE, OPSBOARD_REDIS_PREFIX=prefix)


def test_the_embedded_store_is_the_default_and_means_a_demo():
    environ = {"OPSBOARD_EMBEDDED_REDIS_URL": OTHER}
    assert read_connections(environ)["default"]["url"] == OTHER
    assert is_demo(environ)


def test_a_store_of_the_users_own_is_never_a_demo():
    environ = {"OPSBOARD_EMBEDDED_REDIS_URL": OTHER, "REDIS_URL": STORE}
    assert read_connections(environ)["default"]["url"] == STORE
    assert not is_demo(environ)


def test_without_any_store_commands_work_and_the_server_does_not():
    assert read_connections({}) == {}
    with pytest.raises(ImproperlyConfigured, match="No job store is named; set REDIS_URL"):
        require_connections({})


def test_the_worker_command_gets_its_queues_on_the_default_connection():
    connections = read_connections({"REDIS_URL": STORE, "OPSBOARD_REDIS_B_URL": OTHER})
    assert rq_queues(connections, ["high", "low"]) == {"high": {"URL": STORE}, "low": {"URL": STORE}}


def test_the_worker_command_has_no_queue_without_a_default_connection():
    assert rq_queues(read_connections({"OPSBOARD_REDIS_B_URL": OTHER}), ["high"]) == {}


def test_the_worker_command_finds_the_primary_through_sentinels():
    connections = read_connections({"REDIS_URL": "redis+sentinel://u:p%40ss@a:26379,b:26380/primary/2"})
    assert rq_queues(connections, ["high"])["high"] == {
        "SENTINELS": [("a", 26379), ("b", 26380)],
        "MASTER_NAME": "primary",
        "DB": 2,
        "USERNAME": "u",
        "PASSWORD": "p@ss",
    }
