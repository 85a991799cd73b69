"""Beside ours: a bare aiosmtplib loop without a store, and Django's mails signed by dkimpy."""

import asyncio
import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import aiosmtplib
import dkim
import uvloop

from bench.hook_roads import FILL_SHARE
from bench.mail_sink import MailSink
from bench.mail_texts import DOMAIN, SELECTOR, SENDER, parts, prepared, recipient
from bench.shape import NO_STORE, Taken

WARM_SHARE = 0.1


def bare(_folder: Path, seconds: float, *, sessions: int) -> list[Taken]:
    """Prepared mails by aiosmtplib alone, on kept connections; nothing is stored."""
    return [uvloop.run(_bare(seconds, sessions))]


async def _bare(seconds: float, sessions: int) -> Taken:
    sink, sent, mail = MailSink(), 0, prepared()
    clients = [
        aiosmtplib.SMTP(hostname="127.0.0.1", port=sink.port, start_tls=False)
        for _ in range(sessions)
    ]
    for client in clients:
        await client.connect()
    end_s = 0.0

    async def loop(client: aiosmtplib.SMTP) -> None:
        nonlocal sent
        while time.perf_counter() < end_s:
            number, sent = sent, sent + 1
            await client.sendmail("shop@example.com", [recipient(number)], mail)

    end_s = time.perf_counter() + seconds * WARM_SHARE
    await asyncio.gather(*map(loop, clients))
    warm, start_s, start_cpu_s = sent, time.perf_counter(), time.process_time()
    end_s = start_s + seconds * (1 - FILL_SHARE)
    await asyncio.gather(*map(loop, clients))
    took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
    for client in clients:
        await client.quit()
    got = await asyncio.to_thread(sink.end)
    return Taken("bare-aiosmtplib", sent, sent, got.distinct, sent - warm, took_s, cpu_s, NO_STORE)


def django(_folder: Path, seconds: float, *, sessions: int, key: str) -> list[Taken]:
    """EmailMultiAlternatives, built and signed for each recipient, on kept connections in threads;
    nothing is stored."""
    from django.conf import settings
    from django.core.mail import EmailMultiAlternatives
    from django.core.mail.backends.smtp import EmailBackend

    if not settings.configured:
        settings.configure(USE_TZ=True)
    sink, numbers, end_s = MailSink(), itertools.count(), 0.0

    def loop(backend: EmailBackend) -> None:
        while time.perf_counter() < end_s:
            number = next(numbers)
            said = parts(number)
            mail = EmailMultiAlternatives(
                said["subject"], said["text"], SENDER, [recipient(number)]
            )
            mail.attach_alternative(said["html"], "text/html")
            made = mail.message().as_bytes(linesep="\r\n")
            names = [b"from", b"to", b"subject", b"date", b"message-id"]
            signature = dkim.sign(
                made,
                SELECTOR.encode(),
                DOMAIN.encode(),
                key.encode(),
                canonicalize=(b"relaxed", b"relaxed"),
                include_headers=names,
            )
            backend.connection.sendmail("shop@example.com", [recipient(number)], signature + made)

    backends = [EmailBackend(host="127.0.0.1", port=sink.port) for _ in range(sessions)]
    for backend in backends:
        backend.open()
    with ThreadPoolExecutor(sessions) as threads:
        end_s = time.perf_counter() + seconds * WARM_SHARE
        list(threads.map(loop, backends))
        warm, start_s, start_cpu_s = next(numbers), time.perf_counter(), time.process_time()
        end_s = start_s + seconds * (1 - FILL_SHARE)
        list(threads.map(loop, backends))
        took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
    for backend in backends:
        backend.close()
    sent, got = next(numbers) - 1, sink.end()  # one number was spent on counting
    timed = sent - warm
    return [Taken("django-dkimpy", sent, sent, got.distinct, timed, took_s, cpu_s, NO_STORE)]
