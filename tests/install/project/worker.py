"""A worker of the project's own, which has asked its database for something before it forks."""

from __future__ import annotations

import os

import django
from redis import Redis
from rq import Queue, Worker

django.setup()

from shop.models import Letter
from shop.tasks import named_connection

store = Redis.from_url(os.environ["REDIS_URL"])
before = named_connection()
Worker([Queue("mail", connection=store)], connection=store).work(burst=True)
# Still its own, and of use: a child that had closed it would have ended it here too.
print(before, named_connection(), Letter.objects.count(), os.getpid())
