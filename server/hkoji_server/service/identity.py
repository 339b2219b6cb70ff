"""The identity of a service: its key, by which it signs, and its origin, by which players know it.

Every process that works on a store begins with it.
"""

from __future__ import annotations

from hkoji.log.private_key import PrivateKey
from hkoji_server.service.clock_and_entropy import ClockAndEntropy
from hkoji_server.store.contract import Store


async def identify(store: Store, sources: ClockAndEntropy, origin: str | None, fallback: str) -> tuple[PrivateKey, str]:
    """Returns the service's key and origin from the store; in a new store it makes them first."""
    kept = await store.identity()
    if kept is None:
        fresh = PrivateKey.from_seed(sources.entropy(32)).to_openssh().decode()
        kept = await store.add_identity(fresh, origin or fallback)  # another process may have been first
    text, kept_origin = kept
    if origin and origin != kept_origin:
        await store.set_origin(origin)
    return PrivateKey.from_openssh(text.encode()), origin or kept_origin
