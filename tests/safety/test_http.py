"""What is known of an effect whose HTTP call failed, by two libraries, against servers that really do it."""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from datetime import timedelta
from email.utils import format_datetime

import httpx
import pytest
import requests
from requests.adapters import HTTPAdapter
from requests.auth import HTTPDigestAuth
from rq.timeouts import JobTimeoutException
from urllib3 import HTTPConnectionPool, Retry

from jobs.safety.errors import LeaseLost, NotPerformed, OutcomeUnknown, PermanentError, TransientError
from jobs.safety.http import classify_http
from opsboard.runner.valkey import free_port
from tests.oracle import client as oracle_client
from tests.oracle.book import Fault
from tests.safety.servers import answer, be_silent, dying_server, full_server, read_request, reset, serving

SECRET = "s3cr3t"
PATIENT, IMPATIENT = 20.0, 0.3
"""Time limits in seconds: for what is answered, and for what is not."""


def by_requests(url, *, proxy=None, follow=False, timeout=PATIENT, session=requests, **how):
    how |= {"proxies": {"http": proxy, "https": proxy}} if proxy else {}
    response = session.post(url, data=SECRET, timeout=timeout, allow_redirects=follow, **how)
    response.raise_for_status()


def by_httpx(url, *, proxy=None, follow=False, timeout=PATIENT):
    with httpx.Client(proxy=proxy, follow_redirects=follow, timeout=timeout, trust_env=False) as client:
        client.post(url, content=SECRET).raise_for_status()


@pytest.fixture(params=[by_requests, by_httpx])
def post(request, monkeypatch):
    """One POST by each library, its answer looked at."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return request.param


# Before anything was sent ---------------------------------------------------------------------------------------------


def test_a_refused_connection_did_nothing(post):
    assert outcome(post, f"http://127.0.0.1:{free_port()}/") is NotPerformed


def test_a_name_that_is_not_known_did_nothing(post):
    assert outcome(post, "http://no-such-host.invalid/") is NotPerformed


def test_a_connection_that_nobody_takes_did_nothing(post):
    with full_server() as port:
        assert outcome(post, f"http://127.0.0.1:{port}/", timeout=IMPATIENT) is NotPerformed


@pytest.mark.parametrize("scene", ["garbage", "closed", "reset", "silent"])
def test_a_tls_handshake_that_fails_did_nothing(post, scene):
    talk = {
        "garbage": lambda connection: connection.sendall(b"220 this is no TLS\r\n" * 9),
        "closed": lambda connection: connection.recv(1),
        "reset": lambda connection: (connection.recv(1), reset(connection)),
        "silent": be_silent,
    }[scene]
    with serving(talk) as port:
        assert outcome(post, f"https://127.0.0.1:{port}/", timeout=IMPATIENT) is NotPerformed


def test_waiting_in_vain_for_a_connection_of_the_pool_did_nothing():
    with (
        serving(answer(200)) as port,
        httpx.Client(limits=httpx.Limits(max_connections=1), trust_env=False) as client,
        client.stream("GET", f"http://127.0.0.1:{port}/"),
        pytest.raises(NotPerformed),
        classify_http(),
    ):
        client.post(f"http://127.0.0.1:{port}/", timeout=httpx.Timeout(PATIENT, pool=0.05))


def test_waiting_in_vain_for_a_connection_below_requests_did_nothing():
    pool = HTTPConnectionPool("127.0.0.1", free_port(), maxsize=1, block=True)
    pool._get_conn()
    with pytest.raises(NotPerformed), classify_http():
        pool.request("POST", "/", pool_timeout=0.05, retries=False)


def test_an_address_that_cannot_be_called_is_wrong_data(post):
    assert outcome(post, "ftp//nowhere") is PermanentError


@pytest.mark.parametrize("target", ["http", "https"])
def test_a_proxy_that_refuses_connections_did_nothing(post, target):
    assert outcome(post, f"{target}://example.invalid/", proxy=f"http://127.0.0.1:{free_port()}") is NotPerformed


def test_a_proxy_that_will_not_open_the_tunnel_did_nothing(post):
    with serving(answer(502)) as port:
        assert outcome(post, "https://example.invalid/", proxy=f"http://127.0.0.1:{port}") is NotPerformed


# After something was sent ---------------------------------------------------------------------------------------------


@pytest.fixture(params=["silent", "closed", "reset", "half", "garbage"])
def broken(request):
    """Takes the request, and then answers badly or not at all."""
    return {
        "silent": be_silent,
        "closed": read_request,
        "reset": lambda connection: (read_request(connection), reset(connection)),
        "half": answer(200, cut=True),
        "garbage": lambda connection: (read_request(connection), connection.sendall(b"220 this is no HTTP\r\n\r\n")),
    }[request.param]


def test_no_answer_or_a_broken_one_leaves_the_outcome_unknown(post, broken):
    with serving(broken) as port:
        assert outcome(post, f"http://127.0.0.1:{port}/", timeout=IMPATIENT) is OutcomeUnknown


def test_no_answer_through_a_proxy_leaves_the_outcome_unknown(post, broken):
    with serving(broken) as port:
        proxy = f"http://127.0.0.1:{port}"
        assert outcome(post, "http://example.invalid/", proxy=proxy, timeout=IMPATIENT) is OutcomeUnknown


@pytest.mark.parametrize("status", [302, 303, 307])
def test_a_failure_after_a_redirect_says_nothing_of_the_first_request(post, status):
    with serving(answer(status, Location=f"http://127.0.0.1:{free_port()}/")) as port:
        assert outcome(post, f"http://127.0.0.1:{port}/", follow=True) is OutcomeUnknown


@pytest.mark.parametrize("status", [404, 429, 503])
def test_an_answer_after_a_redirect_says_nothing_of_the_first_request(post, status):
    with serving(answer(302, Location="/done"), answer(status, Retry_After="1")) as port:
        assert outcome(post, f"http://127.0.0.1:{port}/", follow=True) is OutcomeUnknown


def test_a_redirect_that_is_not_followed_leaves_the_outcome_unknown():
    with serving(answer(302, Location="/done")) as port:
        assert outcome(by_httpx, f"http://127.0.0.1:{port}/") is OutcomeUnknown


def test_an_error_of_the_job_code_itself_leaves_the_outcome_unknown():
    with pytest.raises(OutcomeUnknown, match="KeyError"), classify_http():
        {}["id"]


def test_a_refusal_met_while_an_earlier_error_was_handled_is_judged_by_itself(post):
    with serving(read_request) as port, pytest.raises(OutcomeUnknown), classify_http():
        try:
            post(f"http://127.0.0.1:{free_port()}/")
        except Exception:
            post(f"http://127.0.0.1:{port}/")


# A library that repeats by itself -------------------------------------------------------------------------------------


def test_a_refusal_after_a_repeat_of_what_may_have_acted_is_unknown():
    with dying_server() as port, repeating(Retry(2, allowed_methods=None, backoff_factor=0)) as session:
        assert outcome(by_requests, f"http://127.0.0.1:{port}/", session=session) is OutcomeUnknown


def test_refusals_alone_however_often_did_nothing():
    with repeating(Retry(connect=2, backoff_factor=0)) as session:
        assert outcome(by_requests, f"http://127.0.0.1:{free_port()}/", session=session) is NotPerformed


@pytest.mark.parametrize(("first", "then"), [(500, OutcomeUnknown), (429, PermanentError)])
def test_an_answer_to_a_repeat_counts_only_if_the_first_did_nothing(first, then):
    retry = Retry(1, allowed_methods=None, status_forcelist=[first], raise_on_status=False, backoff_factor=0)
    with serving(answer(first), answer(422)) as port, repeating(retry) as session:
        assert outcome(by_requests, f"http://127.0.0.1:{port}/", session=session) is then


def test_a_repeat_with_credentials_is_judged_by_its_own_answer():
    challenge = answer(401, WWW_Authenticate='Digest realm="r", nonce="n", qop="auth"')
    with serving(challenge, answer(422)) as port:
        assert outcome(by_requests, f"http://127.0.0.1:{port}/", auth=HTTPDigestAuth("a", "b")) is PermanentError


# Answers --------------------------------------------------------------------------------------------------------------

ANSWERS = [
    *((status, PermanentError) for status in (400, 401, 403, 404, 405, 410, 412, 413, 415, 422, 451)),
    *((status, NotPerformed) for status in (425, 429)),
    *((status, OutcomeUnknown) for status in (408, 460, 500, 501, 502, 503, 504, 520)),
    (409, TransientError),
]


@pytest.mark.parametrize(("status", "expected"), ANSWERS)
def test_an_answer_says_this_of_the_effect(post, status, expected):
    with serving(answer(status)) as port:
        assert outcome(post, f"http://127.0.0.1:{port}/") is expected


@pytest.mark.parametrize(("status", "expected"), [(429, NotPerformed), (503, TransientError), (409, TransientError)])
def test_an_answer_that_says_when_is_waited_for(post, status, expected):
    with serving(answer(status, Retry_After="7")) as port:
        error = error_of(post, f"http://127.0.0.1:{port}/")
    assert (type(error), error.retry_after) == (expected, timedelta(seconds=7))


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("0", 0), ("1.5", 1.5), ("9" * 400, 365 * 86_400), ("-1", None), ("nan", None), ("soon", None), ("", None)],
)
def test_a_wait_in_seconds_is_read_with_care(said, seconds):
    error = classify_http(httpx.Response(429, headers={"Retry-After": said}))
    assert error.retry_after == (None if seconds is None else timedelta(seconds=seconds))


@pytest.mark.parametrize(("ahead", "seconds"), [(90, 90), (-90, 0)])
def test_a_wait_until_a_date_is_counted_by_the_clock_of_the_server(now, ahead, seconds):
    until = format_datetime(now + timedelta(seconds=ahead), usegmt=True)
    headers = {"Retry-After": until, "Date": format_datetime(now, usegmt=True)}
    assert classify_http(httpx.Response(429, headers=headers)).retry_after == timedelta(seconds=seconds)


def test_a_wait_until_a_date_is_counted_from_now_where_the_server_has_no_clock():
    error = classify_http(httpx.Response(429, headers={"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}))
    assert error.retry_after == timedelta(0)


def test_an_answer_of_success_is_no_error():
    assert classify_http(httpx.Response(201)) is None


def test_an_error_from_elsewhere_that_was_never_raised_proves_nothing():
    assert type(classify_http(httpx.ConnectError("refused"))) is OutcomeUnknown


# The block ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [PermanentError("x"), NotPerformed("x"), LeaseLost("x"), JobTimeoutException("x")])
def test_what_needs_no_translation_passes_unchanged(error):
    with pytest.raises(type(error)) as caught, classify_http():
        raise error
    assert caught.value is error


@pytest.mark.parametrize("scene", ["refused", "answered", "dropped"])
def test_nothing_of_the_call_stands_in_what_is_printed_and_stored(post, scene):
    talk = {"answered": answer(422, X_Token=SECRET), "dropped": read_request}.get(scene)
    with serving(talk) as port:
        port = port if talk else free_port()
        error = error_of(post, f"http://user:{SECRET}@127.0.0.1:{port}/{SECRET}?token={SECRET}")
    assert SECRET not in "".join(traceback.format_exception(error, limit=0))
    assert "127.0.0.1" in str(error)


def test_the_original_stays_within_reach(post):
    error = error_of(post, f"http://127.0.0.1:{free_port()}/")
    assert type(error.__context__).__module__.partition(".")[0] in ("httpx", "requests")


# The standard library, in the client of the oracle ------------------------------------------------------------------


def test_the_oracle_refusing_connections_did_nothing():
    with pytest.raises(NotPerformed), classify_http():
        oracle_client.act(f"http://127.0.0.1:{free_port()}", "order", mode="blind")


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault.DROP_ANSWER, OutcomeUnknown),
        (Fault.HANG, OutcomeUnknown),
        (Fault.ERROR_AFTER, OutcomeUnknown),
        (Fault.TOO_MANY, NotPerformed),
    ],
)
def test_the_faults_of_the_oracle_are_told_apart(oracle, fault, expected):
    order, timeout = f"http:{fault}", IMPATIENT if fault is Fault.HANG else PATIENT
    oracle_client.arm(oracle.url, order, fault, seconds=1)
    with pytest.raises(expected) as caught, classify_http():
        oracle_client.act(oracle.url, order, mode="blind", timeout=timeout)
    assert type(caught.value) is expected


def outcome(post, url, **how):
    """The class of error that a call becomes."""
    return type(error_of(post, url, **how))


def error_of(post, url, **how):
    """The error that a call becomes."""
    with pytest.raises(Exception) as caught, classify_http():
        post(url, **how)
    return caught.value


@contextmanager
def repeating(retries):
    """A session of requests that tries again by itself."""
    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", HTTPAdapter(max_retries=retries))
        yield session
