"""Changes the player's key: writes the new key to disk before anything is sent, then sends it to each service in turn.

docs/spec/log.md, "Client rules"; docs/spec/http.md, "Keys". The statements for a new key and for a recovery are kept
and sent again unchanged, so repeating a command finishes one that broke off. The old key stays: running games may still
need it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from hkoji.client.answers import REFUSALS
from hkoji.client.identity import Identity, OwnKey, create, load, load_signer, make_key
from hkoji.client.kept.files import locked
from hkoji.client.kept.home import Home, registered
from hkoji.client.requests import REPLACED, unregistered
from hkoji.client.service import Service, utc_now
from hkoji.errors import ConflictError, ExistsError, ForbiddenError, HkojiError, UsageError
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.public_key import PublicKey
from hkoji.log.statement import make_new_key, make_recovery, make_revocation, parse_revocation
from hkoji.messages.text import tell


class RevokedKey(NamedTuple):
    """A revocation for the service at `url`: its text, and the base64 of its signature."""

    url: str
    text: str
    sig: str


class KeyChanges:
    """Changes the keys of the player of `home`. `service` returns a service by its URL, `entropy` random bytes."""

    def __init__(self, home: Home, service: Callable[[str], Service], entropy: Callable[[int], bytes]) -> None:
        self._home: Final = home
        self._service = service
        self._entropy = entropy

    def rekey(self, file: Path | None) -> Identity:
        """Replaces the player's key by a new one, or by that of `file`, at every service they are registered at.

        If a service refuses the key, raises its error at once. Services that do not answer are left for the next call;
        the first such error is raised when the other services have the key.
        """
        with locked(self._home.path / "keys"):
            identity = self._prepare(load(self._home), file)
            assert identity.next is not None
            failed: HkojiError | None = None
            for url in registered(self._home):
                if identity.key_at(url) == identity.next.public:
                    continue
                try:
                    self._announce(identity, url)
                except (*REFUSALS, ExistsError) as error:
                    self._drop_if_unused(error)
                    raise
                except HkojiError as error:
                    failed = failed or error
            if failed:
                raise failed
            return self._finish()

    def revocation(self, url: str, key: PublicKey | None) -> RevokedKey:
        """Returns a revocation of one of the player's keys, by default the current one. Sends nothing."""
        identity = load(self._home)
        public = key or identity.key_at(url)
        origin = self._origin(url)
        statement = make_revocation(at=utc_now(), key=public, name=identity.name, origin=origin)
        sig = identity.signer_of(public).sign(sshsig.REVOKE, statement.message)
        return RevokedKey(url, statement.text, encode_base64(sig))

    def revoke(self, revocation: RevokedKey) -> PublicKey:
        """Sends a revocation, of any player's key. Returns the revoked key."""
        statement = parse_revocation(revocation.text)
        self._service(revocation.url).revoke(statement.name, revocation.text, revocation.sig)
        return statement.key

    def recover(self, name: str, url: str, code: str, file: Path | None, origin: str | None = None) -> Identity:
        """Gives a player a new key, or that of `file`, in place of one that is revoked or that the service holds.

        `code` comes from the operator, or in a letter. Raises `ConflictError` while a game needs the held key. `origin`
        is that of the service, if the user has confirmed it: see `Service.meet`.
        """
        with locked(self._home.path / "keys"):
            service = self._service(url)
            about = service.meet(origin)
            if not self._home.config_file.exists():
                create(self._home, name, file, self._entropy(32))
            identity = load(self._home)
            if identity.name != name:
                raise ExistsError(
                    tell("player"), identity.name, hint=tell("use another HKOJI_HOME than {path}", path=self._home.path)
                )
            if "server" in self._home.config():
                identity = self._prepare(identity, file)
            own = identity.next or identity.own
            service.pins.pin_server(about.key)
            kept = self._home.config().get("recovery") or {}
            if (kept.get("url"), kept.get("key")) != (url, own.public.text):
                statement = make_recovery(at=utc_now(), key=own.public, name=name, origin=about.origin)
                sig = identity.signer_of(own.public).sign(sshsig.RECOVER, statement.message)
                kept = {"url": url, "key": own.public.text, "text": statement.text, "sig": encode_base64(sig)}
                self._home.update_config(recovery=kept)
            try:
                found = service.recover(name, kept["text"], kept["sig"], code)
            except ConflictError as error:
                raise _needed(error) from error
            service.pins.pin_origin(about.origin)
            service.pins.pin_player(name, own.public)
            for each in found.earlier:
                service.pins.remember(name, each.key)
            self._home.update_config(server=url)
            if identity.next is not None:
                self._moved(url)
                if all(load(self._home).key_at(each) == own.public for each in registered(self._home)):
                    return self._finish()
            self._home.update_config(recovery={})
            return load(self._home)

    # --- the steps ------------------------------------------------------------------------------------------------

    def _prepare(self, identity: Identity, file: Path | None) -> Identity:
        """Returns the player with a next key, which is on disk: one that was prepared before, or a new one."""
        if identity.next is not None:
            if file is not None and load_signer(file.expanduser().absolute()).public != identity.next.public:
                raise UsageError(
                    tell("you have begun to change to another key, {key}", key=identity.next.public.fingerprint),
                    hint=tell("finish that first with `hkoji rekey`"),
                )
            return identity
        if file is None:
            path = self._home.spare_key_file()
            own, written = make_key(path, identity.name, self._entropy(32)), path.name
        else:
            path = file.expanduser().absolute()
            own, written = OwnKey(load_signer(path).public, path), str(path)
        if own.public in {each.public for each in identity.keys}:
            raise UsageError(
                tell("{fingerprint} is, or was, your key already", fingerprint=own.public.fingerprint),
                hint=tell("nothing was changed; give another file, or none for a new key"),
            )
        pending = {"key": own.public.text, "key_file": written, "sent": {}, "done": []}
        self._home.update_config(next=pending)
        return load(self._home)

    def _announce(self, identity: Identity, url: str) -> None:
        """Signs the statement that the next key replaces the current one, keeps and sends it, and notes its success.

        If the service has the next key already, because of another machine or a recovery, only notes that.
        """
        assert identity.next is not None
        service, old, new = self._service(url), identity.key, identity.next.public
        pending = self._home.config()["next"]
        sent = pending["sent"].get(url)
        if sent is None and service.player(identity.name).key == new:
            service.pins.pin_player(identity.name, new)
            self._moved(url)
            return
        if sent is None:
            statement = make_new_key(at=utc_now(), key=new, name=identity.name, old=old, origin=self._origin(url))
            sigs = [identity.signer_of(key).sign(sshsig.NEW_KEY, statement.message) for key in (new, old)]
            sent = [statement.text, *map(encode_base64, sigs)]
            self._home.update_config(next={**pending, "sent": {**pending["sent"], url: sent}})
        try:
            service.new_key(identity.name, *sent)
        except ForbiddenError as error:
            error.hint = error.hint or REPLACED
            raise
        service.pins.pin_player(identity.name, new)
        self._moved(url)

    def _moved(self, url: str) -> None:
        pending = self._home.config()["next"]
        if url not in pending["done"]:
            self._home.update_config(next={**pending, "done": [*pending["done"], url]})

    def _finish(self) -> Identity:
        """Makes the next key the player's current key, and the previous one an earlier key."""
        config = self._home.config()
        new, old = config["next"], {"key": config["key"], "key_file": config["key_file"]}
        earlier = [old, *config.get("earlier", ())]
        self._home.update_config(key=new["key"], key_file=new["key_file"], earlier=earlier, next={}, recovery={})
        return load(self._home)

    def _drop_if_unused(self, error: HkojiError) -> None:
        """Drops the next key after a refusal, unless another service has it already. Its file stays."""
        if not self._home.config()["next"]["done"]:
            self._home.update_config(next={})
            error.hint = error.hint or tell("nothing was changed: you still play with your old key")

    def _origin(self, url: str) -> str:
        origin = self._service(url).pins.origin
        if origin is None:
            raise unregistered(url)
        return origin


def _needed(error: ConflictError) -> ConflictError:
    """Returns the error for a game that needs the key that the service holds."""
    return ConflictError(
        error.game,
        seq=error.seq,
        head=error.head,
        reason=tell(
            "game {game} has not begun, and only the service can send your part in its shuffle", game=error.game
        ),
        hint=tell(
            "nothing was changed, and the code is still valid; try again when the game has begun. If you host it, and "
            "nobody has joined, you can also write: cancel"
        ),
    )
