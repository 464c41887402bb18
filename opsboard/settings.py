"""Every setting, in one file. Values come from the environment; a bad one ends the start with a sentence."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import dj_database_url
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from opsboard.access.reading import read_access
from opsboard.connections import DEFAULT, is_demo, read_connections, rq_queues
from opsboard.env import env_bool, env_choice, env_int, env_list, env_seconds, env_str, env_time_zone, env_url
from opsboard.instance import instance_id, read_secret_key
from opsboard.links import read_links
from opsboard.logs import configure_structlog, logging_config
from opsboard.mail import FOLDER, SERVER, read_mail_from, read_mail_server, require_patience

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(env_str("OPSBOARD_VAR", str(BASE_DIR / "var")))

# Access -----------------------------------------------------------------------------------------------------------

access = read_access(os.environ)
OPSBOARD_MODE = access.mode
OPSBOARD_PORT = access.port
OPSBOARD_BIND = access.bind
OPSBOARD_HOSTS = list(access.hosts)
OPSBOARD_TRUSTED_PROXIES = list(access.trusted_proxies)
OPSBOARD_READ_ONLY = env_bool("OPSBOARD_READ_ONLY")
OPSBOARD_ENVIRONMENT = env_str("OPSBOARD_ENVIRONMENT")
OPSBOARD_ENVIRONMENT_COLOUR = env_choice(
    "OPSBOARD_ENVIRONMENT_COLOUR", "grey", ("grey", "blue", "green", "amber", "red")
)
DEBUG = env_bool("OPSBOARD_DEBUG")
SECRET_KEY = read_secret_key(os.environ, VAR_DIR)
OPSBOARD_INSTANCE = instance_id(os.environ, SECRET_KEY)
ALLOWED_HOSTS = list(access.hosts)
# The middleware has seen by then that it was our proxy that said so, once.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if access.is_proxied else None
SECURE_HSTS_SECONDS = access.hsts_seconds
SECURE_HSTS_INCLUDE_SUBDOMAINS = access.has_hsts_subdomains

# The job stores ---------------------------------------------------------------------------------------------------

OPSBOARD_CONNECTIONS = read_connections(os.environ)
OPSBOARD_DEMO = is_demo(os.environ)
# For django-rq's worker command, and for the jobs of the exports.
RQ_QUEUES = rq_queues(OPSBOARD_CONNECTIONS, env_list("OPSBOARD_WORKER_QUEUES", ["default", "high", "low"]))
RQ_SHOW_ADMIN_LINK = False

# What is on record -------------------------------------------------------------------------------------------------

OPSBOARD_RETENTION_DAYS = env_int("OPSBOARD_RETENTION_DAYS", 90, least=1, most=3650)
OPSBOARD_REVIEW_AGE_LIMIT_HOURS = env_int("OPSBOARD_REVIEW_AGE_LIMIT_HOURS", 24, least=1, most=24 * 365)
OPSBOARD_LINKS = read_links(os.environ)

# Jobs that are safe to run again ----------------------------------------------------------------------------------

# A namespace, so that two installations never send the same idempotency key to one provider.
OPSBOARD_NAMESPACE = env_str("OPSBOARD_NAMESPACE", OPSBOARD_ENVIRONMENT or "local")
OPSBOARD_CONNECTION = env_str("OPSBOARD_CONNECTION", next(iter(OPSBOARD_CONNECTIONS), ""))
if OPSBOARD_CONNECTION not in {"", *OPSBOARD_CONNECTIONS}:
    raise ImproperlyConfigured(
        f"OPSBOARD_CONNECTION must be one of {', '.join(OPSBOARD_CONNECTIONS)}; change it or leave it out."
    )
OPSBOARD_LEASE_GRACE_SECONDS = env_seconds("OPSBOARD_LEASE_GRACE_SECONDS", 90, least=1, most=86_400)
OPSBOARD_CALL_TIMEOUT_SECONDS = env_seconds("OPSBOARD_CALL_TIMEOUT_SECONDS", 30, least=0.1, most=86_400)
OPSBOARD_QUEUE_GRACE_SECONDS = env_seconds("OPSBOARD_QUEUE_GRACE_SECONDS", 60, least=0.1, most=86_400)
OPSBOARD_DIE_WITH_WORKER = env_bool("OPSBOARD_DIE_WITH_WORKER")

# Mail -------------------------------------------------------------------------------------------------------------

mail_server = read_mail_server(os.environ)
OPSBOARD_HAS_MAIL_SERVER = mail_server is not None
EMAIL_BACKEND = SERVER if mail_server else FOLDER
EMAIL_FILE_PATH = VAR_DIR / "mail"
# A server that looks into a mail before it takes it may need longer; a mail whose answer is late is for a person.
EMAIL_TIMEOUT = env_seconds("OPSBOARD_MAIL_TIMEOUT_SECONDS", 20, least=0.1, most=3600)
if mail_server:
    require_patience(EMAIL_TIMEOUT, OPSBOARD_CALL_TIMEOUT_SECONDS)
    EMAIL_HOST, EMAIL_PORT = mail_server.host, mail_server.port
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = mail_server.user, mail_server.password
    EMAIL_USE_TLS, EMAIL_USE_SSL = mail_server.scheme == "smtp+starttls", mail_server.scheme == "smtps"
DEFAULT_FROM_EMAIL = SERVER_EMAIL = read_mail_from(os.environ)

# The exports ------------------------------------------------------------------------------------------------------

# An example, which whoever looks after an RQ of his own may not want to have on his pages.
OPSBOARD_EXPORTS = env_bool("OPSBOARD_EXPORTS", OPSBOARD_DEMO)
if OPSBOARD_EXPORTS and DEFAULT not in OPSBOARD_CONNECTIONS:
    raise ImproperlyConfigured("The exports need a job store for their jobs: set REDIS_URL, or OPSBOARD_EXPORTS=0.")
if OPSBOARD_EXPORTS and OPSBOARD_CONNECTION != DEFAULT:
    # The observer would look for their jobs in the other store, and put each on a queue there that nobody works on.
    raise ImproperlyConfigured(
        "The exports use the store of REDIS_URL; take OPSBOARD_CONNECTION out, or set OPSBOARD_EXPORTS=0."
    )
if OPSBOARD_EXPORTS:
    RQ_QUEUES = {**rq_queues(OPSBOARD_CONNECTIONS, ["exports", "mail"]), **RQ_QUEUES}
# Neither static nor media: only the page of an export hands them out.
OPSBOARD_EXPORTS_DIR = Path(env_str("OPSBOARD_EXPORTS_DIR", str(VAR_DIR / "exports")))
OPSBOARD_EXPORTS_DAYS = env_int("OPSBOARD_EXPORTS_DAYS", 7, least=1, most=365)
OPSBOARD_EXPORTS_AT_ONCE = env_int("OPSBOARD_EXPORTS_AT_ONCE", 3, least=1, most=1000)
OPSBOARD_EXPORTS_KEPT = env_int("OPSBOARD_EXPORTS_KEPT", 50, least=1, most=100_000)
# 0: as fast as it can. Less is kinder to a database that others work on.
OPSBOARD_EXPORTS_ROWS_PER_SECOND = env_int("OPSBOARD_EXPORTS_ROWS_PER_SECOND", 0, least=0, most=10_000_000)
# What links in mails begin with.
OPSBOARD_SITE_URL = env_url(
    "OPSBOARD_SITE_URL", ("http", "https"), "https://opsboard.example.org", access.site_url
).rstrip("/")

# Parts ------------------------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "opsboard",
    "jobs.apps.JobsConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "guardian",
    "axes",
    "csp",
    "django_htmx",
    "django_rq",
    "exports.apps.ExportsConfig",
]

MIDDLEWARE = [
    # These only add headers, to refusals and error pages too.
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "opsboard.security.SecurityHeadersMiddleware",
    # Nothing answers before this one.
    "opsboard.access.proxied.ProxiedMiddleware" if access.is_proxied else "opsboard.access.local.LocalOnlyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "opsboard.logs.RequestLogMiddleware",
    "opsboard.security.ReadOnlyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # Before the CSRF check: who lost the session is asked to sign in, whatever became of the token.
    "opsboard.signin.SignInRequiredMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "opsboard.errors.BrokerErrorsMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "opsboard.urls"
WSGI_APPLICATION = "opsboard.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "opsboard.context.header",
            ],
        },
    }
]

# Stores -----------------------------------------------------------------------------------------------------------

SQLITE_OPTIONS: dict[str, Any] = {
    "timeout": 20,
    # A transaction that reads first and writes later fails at once when another wrote meanwhile; IMMEDIATE waits.
    "transaction_mode": "IMMEDIATE",
    # FULL: with NORMAL, a power loss takes back what was committed, and with it the record of an intended act.
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;",
}


def _database() -> dict[str, Any]:
    url = env_url(
        "DATABASE_URL", ("postgres", "postgresql", "sqlite"), "postgres://USER:PASSWORD@HOST:5432/NAME",
        f"sqlite:///{VAR_DIR / 'opsboard.sqlite3'}",
    )  # fmt: skip
    try:
        database: dict[str, Any] = {**dj_database_url.parse(url)}
    except ValueError:
        raise ImproperlyConfigured("DATABASE_URL can't be read; percent-encode its name and password.") from None
    if database["ENGINE"].endswith("sqlite3"):
        return {**database, "OPTIONS": {**database.get("OPTIONS", {}), **SQLITE_OPTIONS}}
    options = {"connect_timeout": 5, **database.get("OPTIONS", {})}
    return {**database, "CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True, "OPTIONS": options}


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = BASE_DIR / "static-built"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "opsboard.staticfiles.StaticStorage"},
}
# WhiteNoise's default lets every site read the static files.
WHITENOISE_ALLOW_ALL_ORIGINS = False

# Signing in -------------------------------------------------------------------------------------------------------

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
    "guardian.backends.ObjectPermissionBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "jobs:login"
LOGIN_REDIRECT_URL = "start"
LOGOUT_REDIRECT_URL = "jobs:login"

SESSION_COOKIE_AGE = env_int("OPSBOARD_SESSION_HOURS", 12, least=1, most=24 * 14) * 3600
# With this prefix browsers take the cookie only if it is Secure, of this very host and for every path.
_cookies = "__Host-opsboard" if access.is_proxied else "opsboard"
SESSION_COOKIE_NAME = f"{_cookies}_session_{OPSBOARD_INSTANCE}"
SESSION_COOKIE_SECURE = access.is_proxied
SESSION_COOKIE_HTTPONLY = True
# Lax, not Strict: a link in a ticket must find its reader signed in.
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = f"{_cookies}_csrf_{OPSBOARD_INSTANCE}"
CSRF_COOKIE_SECURE = access.is_proxied
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "opsboard.errors.csrf_failure"
# A cookie of the default name would be shared by everything on localhost.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

# In local mode every peer is 127.0.0.1, so an address tells nobody apart; for the other see opsboard.lockout.
AXES_LOCKOUT_PARAMETERS = ["username", ["username", "ip_address"]] if access.is_proxied else ["username"]
AXES_FAILURE_LIMIT = 8
OPSBOARD_FAILURE_LIMIT_ANYWHERE = 64
AXES_HANDLER = "opsboard.lockout.LockoutHandler"
# Named, since axes by itself believes headers of the client as soon as a package for that is installed.
AXES_CLIENT_IP_CALLABLE = "opsboard.access.proxied.client_address"
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_CALLABLE = "opsboard.errors.locked_out"
AXES_SENSITIVE_PARAMETERS = ["username", "password", "next", "csrfmiddlewaretoken"]
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

ANONYMOUS_USER_NAME = None

# Headers ----------------------------------------------------------------------------------------------------------

X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

SILENCED_SYSTEM_CHECKS = [
    # To redirect plain http is the proxy's; what reaches us unencrypted is refused, and never answered by a redirect,
    # which would go round for ever where a proxy does not say that it was asked by https.
    "security.W008",
    # Subdomains are other people's, until OPSBOARD_HSTS_SUBDOMAINS says otherwise, and so is their place in a browser.
    *(["security.W005", "security.W021"] if access.is_proxied else []),
    # Local mode is plain http on a loopback port, through a tunnel or not: there is no https to insist on, and a Secure
    # cookie would be lost. Lockout by address: see AXES_LOCKOUT_PARAMETERS.
    *([] if access.is_proxied else ["security.W004", "security.W012", "security.W016", "axes.W006"]),
]

# Words and times --------------------------------------------------------------------------------------------------

LANGUAGE_CODE = "en"
USE_I18N = True
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_TZ = True
TIME_ZONE = env_time_zone("OPSBOARD_TIME_ZONE")

# Level DEBUG is not offered: Django would log statements with their values.
OPSBOARD_LOG_LEVEL = env_choice("OPSBOARD_LOG_LEVEL", "INFO", ("INFO", "WARNING", "ERROR"))
configure_structlog()
LOGGING = logging_config(debug=DEBUG, level=OPSBOARD_LOG_LEVEL)
