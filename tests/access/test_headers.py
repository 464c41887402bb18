"""Every header on every kind of answer."""

from __future__ import annotations

import pytest

CSP = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
}
EVERYWHERE = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
ANSWERS = {
    "/login/": 200,
    "/logout/": 405,
    "/healthz": 200,
    "/": 302,
    "/nowhere/": 404,
    "/public/": 200,
    "/bad/": 400,
    "/denied/": 403,
    "/hidden/": 404,
    "/broken/": 500,
    "/unavailable/": 503,
    "/unknown-store/": 404,
    "/static/nowhere.css": 404,
}


def check_headers(answer):
    assert {name: answer.headers.get(name) for name in EVERYWHERE} == EVERYWHERE
    assert set(answer.headers["Content-Security-Policy"].split("; ")) == CSP
    assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "status"), ANSWERS.items())
def test_every_kind_of_answer_carries_every_header_and_is_not_kept(failing_pages, calm_client, path, status):
    answer = calm_client.get(path)
    assert answer.status_code == status
    check_headers(answer)
    assert answer.headers["Cache-Control"] == "no-store, private"


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["post", "put", "delete", "options", "head", "patch"])
def test_other_methods_carry_them_too(client, method):
    answer = getattr(client, method)("/login/")
    check_headers(answer)
    assert answer.headers["Cache-Control"] == "no-store, private"


def test_the_refusal_of_a_foreign_host_carries_them(client):
    answer = client.get("/", headers={"host": "evil.example"})
    assert answer.status_code == 400
    check_headers(answer)
    assert answer.headers["Cache-Control"] == "no-store, private"


@pytest.mark.django_db
def test_a_static_file_carries_them_and_may_be_kept(client, settings, tmp_path):
    (tmp_path / "some.css").write_text("p {}")
    settings.STATICFILES_DIRS = [tmp_path]
    answer = client.get("/static/some.css")
    assert answer.status_code == 200
    check_headers(answer)
    assert "no-store" not in answer.headers["Cache-Control"]
    answer.close()


@pytest.mark.django_db
def test_a_post_without_its_token_carries_them(strict_client):
    answer = strict_client.post("/login/", {"username": "vera"})
    assert answer.status_code == 403
    check_headers(answer)


@pytest.mark.django_db
def test_the_cookies_are_not_for_scripts_and_not_for_other_sites(client, viewer):
    client.get("/login/")
    client.post("/login/", {"username": "vera", "password": "correct horse battery staple"})
    assert len(client.cookies) == 2
    for cookie in client.cookies.values():
        assert (cookie["httponly"], cookie["samesite"], cookie["secure"], cookie["path"]) == (True, "Lax", "", "/")


@pytest.mark.django_db
def test_the_cookies_are_named_after_this_installation(client, settings, viewer):
    client.get("/login/")
    client.post("/login/", {"username": "vera", "password": "correct horse battery staple", "lost": "1"})
    mine = settings.OPSBOARD_INSTANCE
    assert set(client.cookies) == {f"opsboard_session_{mine}", f"opsboard_csrf_{mine}"}


@pytest.mark.django_db
def test_local_mode_asks_no_browser_for_https(client):
    assert "Strict-Transport-Security" not in client.get("/login/").headers
