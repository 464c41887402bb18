"""Where mails go is said by one address; a password in it is told to nobody, and sent to nobody who is not its host."""

from __future__ import annotations

import json
import os
import shutil
import ssl
import stat
import subprocess
import sys
from contextlib import closing

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.mail import EmailMessage, get_connection

from jobs.safety import NotPerformed, PermanentError, classify_smtp
from opsboard.mail import FOLDER, SERVER, check_mail, read_mail_from, read_mail_server, require_patience
from tests.exports.mail_scene import PATIENT
from tests.exports.smtp_sink import smtp_sink
from tests.support.real_rq import ROOT

ASK = """
import json, os
os.environ["DJANGO_SETTINGS_MODULE"] = "opsboard.settings"
from django.conf import settings
names = ["BACKEND", "HOST", "PORT", "HOST_USER", "HOST_PASSWORD", "USE_TLS", "USE_SSL", "TIMEOUT", "FILE_PATH"]
print(json.dumps([str(getattr(settings, f"EMAIL_{name}")) for name in names]))
"""


def settings_with(tmp_path, **environ):
    """The mail settings as a process of its own reads them."""
    kept = {"PATH": os.environ["PATH"], "OPSBOARD_VAR": str(tmp_path), "REDIS_URL": "redis://127.0.0.1:1/0", **environ}
    done = subprocess.run([sys.executable, "-c", ASK], cwd=ROOT, env=kept, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.splitlines()[-1]


def server(url):
    return read_mail_server({"OPSBOARD_MAIL_URL": url})


# The address ----------------------------------------------------------------------------------------------------------


def test_one_address_sets_all_that_django_asks_for(tmp_path):
    found = settings_with(tmp_path, OPSBOARD_MAIL_URL="smtp+starttls://us:p%40ss%2Fword@mail.shop.example")
    assert found == [SERVER, "mail.shop.example", "587", "us", "p@ss/word", "True", "False", "20.0", f"{tmp_path}/mail"]


def test_without_one_mails_go_into_a_folder(tmp_path):
    assert settings_with(tmp_path)[0] == FOLDER


def test_a_server_may_not_be_waited_for_longer_than_a_call_may_take(tmp_path):
    environ = {"OPSBOARD_MAIL_URL": "smtp://localhost", "OPSBOARD_MAIL_TIMEOUT_SECONDS": "30"}
    assert "OPSBOARD_MAIL_TIMEOUT_SECONDS must be less than OPSBOARD_CALL_TIMEOUT_SECONDS (30)" in settings_with(
        tmp_path, **environ
    )
    assert require_patience(29.9, 30) == 29.9


@pytest.mark.parametrize(
    ("url", "port", "is_overheard"),
    [
        ("smtp://localhost", 25, False),
        ("smtp://[::1]:2525", 2525, False),
        ("smtp://relay.shop.example", 25, True),
        ("smtp+starttls://relay.shop.example", 587, False),
        ("smtps://relay.shop.example", 465, False),
    ],
)
def test_the_scheme_says_how_it_is_spoken_to(url, port, is_overheard):
    assert (server(url).port, server(url).is_overheard) == (port, is_overheard)


@pytest.mark.parametrize(
    "url",
    [
        "mail.shop.example",
        "http://us:s3cret@mail.shop.example",
        "http://us:s3cret@mail.shop.example:587",
        "smtps://us:s3cret@",
        "smtps://us:s3cret@mail.shop.example:0",
        "smtps://us:s3cret@mail.shop.example:mail",
        "smtps://us:s3cret/more@mail.shop.example",
        "smtps://us:s3cret@mail.shop.example/folder",
        "smtps://us:s3cret@mail.shop.example?tls=no",
        "smtps://us@mail.shop.example",
        "smtps://us:s3cr%C3%A9t@mail.shop.example",
        "smtps://us:s3cret%0A@mail.shop.example",
        "smtps://us:s3cret@[::1",
        "smtps://us:s3cret@mail shop.example",
    ],
)
def test_what_cannot_be_read_ends_the_start_with_a_sentence_that_gives_nothing_away(url):
    with pytest.raises(ImproperlyConfigured, match="OPSBOARD_MAIL_URL can't be read; write it like smtp") as caught:
        server(url)
    assert "s3cr" not in str(caught.value) and caught.value.__cause__ is None


def test_a_password_is_not_sent_where_others_can_read_it():
    with pytest.raises(ImproperlyConfigured, match="would send its password unencrypted") as caught:
        server("smtp://us:s3cret@mail.shop.example")
    assert "s3cret" not in str(caught.value)
    assert server("smtp://us:s3cret@127.0.0.1").password == "s3cret"
    assert "s3cret" not in repr(server("smtp://us:s3cret@127.0.0.1"))


def test_mails_that_others_can_read_are_warned_of(settings):
    assert check_mail(None) == []
    settings.EMAIL_BACKEND, settings.EMAIL_HOST = SERVER, "relay.shop.example"
    assert [one.id for one in check_mail(None)] == ["opsboard.W001"]
    settings.EMAIL_USE_TLS = True
    assert check_mail(None) == []


def test_mails_that_reach_nobody_are_warned_of_where_people_wait_for_them(settings):
    settings.EMAIL_BACKEND, settings.OPSBOARD_MODE = FOLDER, "proxied"
    assert [one.id for one in check_mail(None)] == ["opsboard.W002"]
    settings.OPSBOARD_EXPORTS = False
    assert check_mail(None) == []


@pytest.mark.parametrize("text", ["opsboard@localhost", "o@shop.example", "Ops <o@shop.example>"])
def test_mails_are_from_one_address(text):
    assert read_mail_from({"OPSBOARD_MAIL_FROM": text}) == text


@pytest.mark.parametrize(
    "text",
    [
        "opsboard",
        "a@shop.example, b@shop.example",
        "a@shop.example\nBcc: b@c.example",
        "ä@shop.example",
        "a@bücher.example",
        "<>",
    ],
)
def test_mails_from_nobody_or_from_several_end_the_start(text):
    with pytest.raises(ImproperlyConfigured, match="OPSBOARD_MAIL_FROM must be one address"):
        read_mail_from({"OPSBOARD_MAIL_FROM": text})


# Encryption -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A key and a certificate for localhost, signed by nobody but itself."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate of the test's mail server, and is not installed")
    path = tmp_path_factory.mktemp("tls") / "localhost.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    about = ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*made, *about, "-keyout", str(path), "-out", str(path)], check=True, capture_output=True)
    return path


@pytest.fixture
def sink(certificate):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    with smtp_sink(tls=tls) as sink:
        yield sink


@pytest.fixture
def send(sink):
    """send(host): sign in there, encrypted, and send a mail."""

    def send_it(host):
        account = {"username": "us", "password": "s3cret", "use_tls": True, "timeout": PATIENT}
        connection = get_connection(SERVER, host=host, port=sink.port, **account)
        with closing(connection), classify_smtp():
            EmailMessage("s", "b", "us@shop.example", ["pat@shop.example"], connection=connection).send()

    return send_it


def test_a_server_whose_certificate_is_trusted_gets_the_mail(send, sink, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    send("localhost")
    assert len(sink.mails) == 1
    assert sink.heard.index("STARTTLS") < sink.heard.index("AUTH")


def test_a_server_that_nobody_vouches_for_gets_neither_password_nor_mail(send, sink):
    with pytest.raises(NotPerformed):
        send("localhost")
    assert sink.mails == [] and "AUTH" not in sink.heard


def test_a_server_of_another_name_gets_neither_password_nor_mail(send, sink, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with pytest.raises(NotPerformed):
        send("127.0.0.1")
    assert sink.mails == [] and "AUTH" not in sink.heard


def test_a_server_that_does_not_encrypt_gets_neither_password_nor_mail(send, sink):
    sink.tls = None
    with pytest.raises(PermanentError):
        send("localhost")
    assert sink.mails == [] and "AUTH" not in sink.heard


def test_a_wrong_password_is_not_repeated_in_what_is_said_of_it(send, sink, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    sink.told["AUTH"] = "535 us s3cret is wrong"
    with pytest.raises(PermanentError) as caught:
        send("localhost")
    assert str(caught.value) == "The mail server refused our credentials with 535."


# The folder -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(settings, tmp_path):
    settings.EMAIL_BACKEND, settings.EMAIL_FILE_PATH = FOLDER, tmp_path / "mail"
    return tmp_path / "mail"


def mail():
    return EmailMessage("s", "grüße", "us@x.example", ["pat@x.example"], headers={"Message-ID": "<export-1.ab@x/../y>"})


def test_each_mail_is_a_file_by_its_name_for_the_eyes_of_its_owner(folder):
    assert [mail().send(), mail().send()] == [1, 1]
    files = sorted(folder.iterdir())
    assert [file.name.partition(".")[2] for file in files] == ["export-1.ab.eml"] * 2
    assert "grüße" in files[0].read_text()
    assert {stat.S_IMODE(one.stat().st_mode) for one in files} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_mail_that_the_folder_does_not_take_was_surely_not_sent(folder):
    folder.write_text("no folder")
    with pytest.raises(NotPerformed), classify_smtp():
        mail().send()
