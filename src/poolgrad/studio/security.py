"""Who may ask the studio's server, and what its answers allow: an ASGI layer around all routes.

The server listens on the loopback address alone. A page of another site can still make the browser send requests
there, so each must name this server as its host, must not come from a foreign origin, and, but for the start page and
its files, must carry the token that only this server's own page knows (from the fragment of its address).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

TOKEN_HEADER = "x-poolgrad-token"
MOST_BODY = 2**20

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Access:
    """What a request has to show."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def hosts(self) -> tuple[str, str]:
        """The names this server goes by."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    @property
    def address(self) -> str:
        """Where the browser goes; what follows the # is never sent."""
        return f"http://{self.hosts[0]}/#{self.token}"

    def refusal(self, path: str, headers: MutableMapping[str, str]) -> tuple[int, str] | None:
        """Status and words of a refusal, or None."""
        if headers.get("host", "") not in self.hosts:
            return 400, "this server answers to its own name only"
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            return 403, "requests from other sites are not answered"
        given = headers.get(TOKEN_HEADER, "")
        if path.startswith("/api/") and not hmac.compare_digest(given.encode(), self.token.encode()):
            return 403, "the token is missing or wrong: open the address that the studio printed"
        return None


class Guard:
    """The layer: refuses, cuts off long bodies, and puts the same headers on every answer."""

    def __init__(self, app: App, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): given.decode("latin-1") for name, given in scope["headers"]}
        refusal = self.access.refusal(scope["path"], headers)
        length = headers.get("content-length", "0")
        if refusal is None and (not length.isdigit() or int(length) > MOST_BODY):
            refusal = 413, f"a request must have at most {MOST_BODY} bytes"

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [(name, given) for name, given in message["headers"] if name.decode().lower() not in HEADERS]
                own = [(name.encode(), given.encode()) for name, given in HEADERS.items()]
                message = {**message, "headers": [*kept, *own]}
            await send(message)

        if refusal is not None:
            await _refuse(*refusal, send_with_headers)
            return
        await self.app(scope, _bounded(receive), send_with_headers)


class TooLongError(Exception):
    """A body went on beyond the limit."""


def _bounded(receive: Receive) -> Receive:
    """A body may not name its length; it is counted as it comes."""
    seen = 0

    async def bounded() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MOST_BODY:
            raise TooLongError
        return message

    return bounded


async def _refuse(status: int, words: str, send: Send) -> None:
    body = f"{words}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
