"""Players whose key the service holds, because they play by mail: invitations, certificates, confirmations.

docs/spec/http.md, "Invitations by mail". Nobody learns here who plays from which mailbox: facts about a name are
public, and all faults of a mailbox are reported in one way.

The owner of a mailbox confirms with `yes`. A confirmation is a kind (`ConfirmWhat`) and an id, as the text `KIND.ID`.
That text is the `about` of its token, whose purpose is `yes` and which is good for a day. `yes` never enters anything
into a log.

- `on`, `register` and `move` stand in the column `confirm` of a mailbox in state `asked`, which `Store.ask_mailbox`
  adds with a row `confirm` of the outbox. Nothing but this letter and its answers goes there. When the owner has
  confirmed, the mailbox is `active`, and the column stays: a second `yes` is answered like the first.
- `unlock` is about a mailbox that is `locked`, with the digest of the mail that has locked it.
- `silence` is about a mailbox from which nothing has come for `SILENT_DAYS`, with the day of the letter.
"""

from __future__ import annotations

from typing import Final

from hkoji.errors import ExistsError, ForbiddenError, IllegalError, MalformedError, NotFoundError, WrongValueError
from hkoji.game.agreement import Agreement, format_duration
from hkoji.game.clock import add_seconds
from hkoji.game.entry_kinds import Invite, Open
from hkoji.game.entry_kinds.key_changes import Delegate
from hkoji.game.held_keys import Gateway, certify, read_gateway, require_strong_gateway
from hkoji.log import sshsig
from hkoji.log.canonical import decode, encode, encode_base64, is_name, name_fault, near_name
from hkoji.log.line import SERVER_NAME
from hkoji.log.private_key import PrivateKey, Signer
from hkoji.log.public_key import parse_public_key
from hkoji.log.statement import make_registration
from hkoji.mail.addresses import OwnAddress, is_mailbox
from hkoji.mail.letters.mailbox import ConfirmWhat
from hkoji.mail.tokens import Purpose, TokenFields, address_hash
from hkoji.messages.text import LANGUAGES, tell
from hkoji_server.service.players.channel_settings import ChannelSettings
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import Settings, own_address
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_invitations import NewMailbox
from hkoji_server.store.mail_tables import KeptCertificate, KeptHeldKey
from hkoji_server.store.mail_values import CONFIRM_SECONDS, TAKEN, Mailbox
from hkoji_server.store.player_tables import Player, RetiredKey
from hkoji_server.store.tables import row_of

UNCHANGED: Final = tell("nothing was changed")
SEALED_BY_MAIL: Final = tell(
    "in a sealed game only your own program can play your cards: a service that answers mail for you would see them"
)


def confirmation(what: ConfirmWhat, of: str) -> str:
    """Returns a confirmation as it is kept: its kind, and an id that no other one of the mailbox has."""
    return f"{what.value}.{of}"


def what_of(about: str) -> ConfirmWhat | None:
    """Returns the kind of a confirmation; None if it is none."""
    kind = about.partition(".")[0]
    return ConfirmWhat(kind) if kind in tuple(ConfirmWhat) else None


def asked_fields(mailbox: Mailbox) -> TokenFields:
    """Returns what the token is for by which what is asked of a mailbox is confirmed."""
    return TokenFields(Purpose.YES, mailbox.name, about=mailbox.confirm or "")


def asked_until(mailbox: Mailbox) -> str:
    """Returns until when that can be confirmed."""
    return add_seconds(mailbox.since, CONFIRM_SECONDS)


def unlock_fields(mailbox: Mailbox, digest: str) -> TokenFields:
    """Returns what the token is for that unlocks a mailbox. `digest` is that of the mail that has locked it."""
    return TokenFields(Purpose.YES, mailbox.name, about=confirmation(ConfirmWhat.UNLOCK, digest))


def silence_fields(mailbox: Mailbox, now: str) -> TokenFields:
    """Returns what the token is for that ends the silence of a mailbox, in the letters of a day."""
    return TokenFields(Purpose.YES, mailbox.name, about=confirmation(ConfirmWhat.SILENCE, now[: len("2026-12-31")]))


def can_confirm(about: str, mailbox: Mailbox) -> bool:
    """Tells whether `yes` to a token can still confirm something, or has done so."""
    match what_of(about):
        case ConfirmWhat.UNLOCK | ConfirmWhat.SILENCE:
            return True
    return about == mailbox.confirm and mailbox.state not in ("blocked", "moved")


class HeldPlayers:
    """Use cases about players whose key the service holds. `signer` is the service's key."""

    def __init__(
        self, store: Store, sources: ClockAndEntropy, signer: Signer, settings: Settings, *, origin: str
    ) -> None:
        self._store = store
        self._sources = sources
        self._signer = signer
        self._settings = settings
        self._origin = origin
        self._own = own_address(settings)

    # --- invitations ----------------------------------------------------------------------------------------------

    async def invite(
        self, name: str, address: str, lang: str, by: str | None, *, ordered: str | None = None
    ) -> Gateway:
        """Makes a held key for the owner of a mailbox, reserves the name, and returns the key's certificate.

        `by` is the player who invites, None for the operator; only the operator's invitation is a letter by itself.
        `ordered` is when a mail came that orders it.
        Raises `MalformedError`, `IllegalError`, `ExistsError`, `ForbiddenError` and `TooManyError`: see
        `Store.invite_mailbox`.
        """
        own = self._verify_mail(by)
        if by is not None and self._settings.registration != "open":
            raise ForbiddenError(
                tell("here only the operator invites people to play by mail"),
                hint=tell("nothing was changed; ask the operator of the service"),
            )
        if not is_name(name):
            raise WrongValueError(tell("name"), name_fault(name), hint=UNCHANGED)
        if name == SERVER_NAME:
            raise ExistsError(tell("player"), SERVER_NAME, hint=tell("that name is reserved; choose another"))
        verify_language(lang)
        verify_address(address, own)
        at = self._sources.at()
        held = self.make_key(name)
        box = Mailbox(self._sources.entropy(8).hex(), name, address, held.key, lang, "invited", at)
        certificate = await self.certify(name, held.key, address)
        new = NewMailbox(box, ChannelSettings().text, by, held, certificate, ordered)
        return read_certificate(await self._store.invite_mailbox(new))

    def make_key(self, name: str) -> KeptHeldKey:
        """Returns a new held key for a player. It is not kept yet."""
        private = PrivateKey.from_seed(self._sources.entropy(32))
        return row_of(KeptHeldKey, key=private.public.text, name=name, private=private.to_openssh().decode())

    async def certify(self, name: str, key: str, address: str) -> KeptCertificate:
        """Returns a new certificate of a held key for a mailbox. It is not kept yet."""
        at, salt = self._sources.at(), self._sources.entropy(32)
        hashed = address_hash(self._origin, address, salt)
        public = parse_public_key(key)
        gateway = certify(self._signer, address=hashed, at=at, key=public, name=name, origin=self._origin)
        return row_of(
            KeptCertificate, text=encode(gateway.to_json()), key=key, mailbox=address.lower(), salt=salt.hex()
        )

    def _verify_mail(self, by: str | None) -> OwnAddress:
        if self._own is None:
            raise no_mail(operator=by is None)
        return self._own

    async def ask(self, what: ConfirmWhat, name: str, address: str, lang: str, by: str | None) -> Mailbox:
        """Asks the owner of a mailbox by a letter to confirm something about player `name`, and returns the mailbox.

        Nothing else is sent there before the `yes`. It gets a held key of its own, but not for `ConfirmWhat.MOVE`: a
        player keeps theirs. `by` is who asks, for the limits of invitations; None for the operator. Raises
        `MalformedError`, `IllegalError`, and what `Store.ask_mailbox` raises.
        """
        verify_address(address, self._verify_mail(by))
        if what is ConfirmWhat.REGISTER and name == SERVER_NAME:
            raise ExistsError(tell("player"), SERVER_NAME)
        at, new = self._sources.at(), self._sources.entropy(8).hex()
        held = None if what is ConfirmWhat.MOVE else self.make_key(name)
        key = "" if held is None else held.key
        asked = Mailbox(new, name, address, key, lang, "asked", at, confirm=confirmation(what, new))
        certificate = None if held is None else await self.certify(name, key, address)
        return await self._store.ask_mailbox(NewMailbox(asked, ChannelSettings().text, by, held, certificate))

    async def refuse_name(self, name: str, address: str, lang: str) -> None:
        """Tells the owner of a mailbox by a letter that the name is taken that they have asked for.

        Of a name that nobody could have, only a name near to it is kept. Raises what `ask` raises.
        """
        verify_address(address, self._verify_mail(address))
        at, new = self._sources.at(), self._sources.entropy(8).hex()
        kept, near = (name, "") if is_name(name) else ("", near_name(name))
        told = Mailbox(new, kept, address, "", lang, "asked", at, confirm=f"{TAKEN}{new}.{near}")
        await self._store.ask_mailbox(NewMailbox(told, ChannelSettings().text, address))

    async def registration(self, mailbox: Mailbox) -> Player:
        """Returns the registration of the owner of a mailbox, under its held key. It is not kept yet."""
        signer = await self.signer_of(mailbox.held_key)
        at = self._sources.at()
        said = make_registration(at=at, key=signer.public, name=mailbox.name, origin=self._origin)
        sig = encode_base64(signer.sign(sshsig.REGISTER, said.message))
        return row_of(Player, name=mailbox.name, key=mailbox.held_key, registered=at, text=said.text, sig=sig)

    # --- held keys ------------------------------------------------------------------------------------------------

    async def signer_of(self, key: str) -> PrivateKey:
        """Returns the private part of a held key. Raises `NotFoundError`."""
        held = await self._store.held_key(key)
        if held is None:
            raise NotFoundError(tell("held key"), key)
        return PrivateKey.from_openssh(held.private.encode())

    async def certificate(self, name: str) -> Gateway | None:
        """Returns the newest certificate of a player whose registered key the service holds; None for all others."""
        player = await self._store.player(name)
        if player is None or await self._store.held_key(player.key) is None:
            return None
        retired = await self._store.retired(player.key)
        if retired is not None and retired.revoked:
            return None
        kept = await self._store.certificates(player.key)
        return read_certificate(kept[0]) if kept else None

    async def revoke(self, name: str) -> bool:
        """Revokes the held key of a player, whose letters go on. Returns False if the service holds none of theirs."""
        player = await self._store.player(name)
        if player is None or await self._store.held_key(player.key) is None:
            return False
        await self._store.revoke_key(row_of(RetiredKey, key=player.key, name=name, at=self._sources.at(), revoked=True))
        return True

    # --- games ----------------------------------------------------------------------------------------------------

    async def verify_offer(
        self, agreement: Agreement, player: str, *, invites: bool = False, sealed: bool = False
    ) -> None:
        """Checks the agreement of a game for which a player asks; with `invites`, in order to invite by mail.

        Raises `IllegalError` if somebody would play it by mail and its clock is too short for letters, or it is sealed;
        or if both would and it is rated.
        """
        held = await self.certificate(player) is not None
        if held and sealed:
            raise sealed_by_mail(tell("nothing was created; ask for a game that is not sealed"))
        if held or invites:
            self._verify_clock(agreement)
        if held and invites:
            _verify_unrated(agreement)

    async def verify_opening(self, agreement: Agreement, body: Open, host: str, *, sealed: bool = False) -> None:
        """Checks the entry that opens a game for a mail player, or for somebody who is invited to be one.

        Raises `IllegalError` for a sealed game, for a clock that is too short, for a rated game of two mail players, or
        if the player is not invited with the key that the service holds; `ForbiddenError` if the invitation of a
        mailbox is somebody else's, or has been used.
        """
        if body.gateway is not None:
            self._verify_clock(agreement)
        if not isinstance(body.invite, Invite):
            return
        name, key = body.invite
        held = await self._held_key_of(name)
        if held is None:
            if key is not None and await self._store.held_key(key.text) is not None:
                raise IllegalError(
                    tell("the service does not hold that key for {name} any more", name=name),
                    hint=tell("the game was not opened; invite {name} again", name=name),
                )
            return
        if sealed:
            raise sealed_by_mail(
                tell("the game was not opened; invite {name} to a game that is not sealed, or somebody else", name=name)
            )
        if not await self._store.may_invite(name, host, self._sources.at()):
            raise ForbiddenError(
                tell("{name} is invited by somebody else, or to another game already", name=name),
                hint=tell("the game was not opened; invite somebody else, or leave it open for anyone"),
            )
        if key is None or key.text != held:
            raise IllegalError(
                tell("{name} plays by mail, and is invited with the key that the service holds", name=name),
                hint=tell("the game was not opened; use `hkoji new --invite {name}`", name=name),
            )
        self._verify_clock(agreement)
        if body.gateway is not None:
            _verify_unrated(agreement)

    async def verify_delegation(self, body: Delegate, name: str) -> None:
        """Checks that the service would act on mails for the key with which a player lets it sign too.

        A certificate stays signed for ever, and may be of a mailbox that has changed hands or was never confirmed, of a
        key that is revoked, or of an earlier origin, which clients refuse. Raises `IllegalError`.
        """
        if body.gateway is None:
            return
        key = body.gateway.key.text
        box, retired = await self._store.mailbox_of_key(key), await self._store.retired(key)
        stands = box is not None and (box.name, box.state, box.held_key) == (name, "active", key) and box.orders
        stands = stands and retired is None
        if not stands or body.gateway.origin != self._origin:
            raise IllegalError(
                tell("the service does not hold that key for {name} any more", name=name),
                hint=tell("nothing was changed; sign moves with your own key"),
            )

    def _verify_clock(self, agreement: Agreement) -> None:
        """Raises `IllegalError` for a clock that is too short for letters, which take hours."""
        clock, least = agreement.clock, self._settings.mail_shortest_clock
        if clock is not None and clock.move + clock.bank < least:
            raise IllegalError(
                tell(
                    "a game with a player who plays by mail needs no clock, or at least {least} per turn and reserve "
                    "together",
                    least=format_duration(least),
                ),
                hint=tell("nothing was changed; letters take hours: agree on more time"),
            )

    async def _held_key_of(self, name: str) -> str | None:
        """Returns the held key with which a player is invited; None for players with a key of their own."""
        player = await self._store.player(name)
        if player is not None:
            return player.key if await self.certificate(name) is not None else None
        box = await self._store.mailbox_of(name, self._sources.at())
        return None if box is None else box.held_key


def sealed_by_mail(hint: str) -> IllegalError:
    """Returns the refusal of a sealed game that somebody would play by mail."""
    return IllegalError(SEALED_BY_MAIL, hint=hint)


def _verify_unrated(agreement: Agreement) -> None:
    """Raises `IllegalError` for a rated game; both of its players play by mail."""
    if agreement.rated:
        raise IllegalError(
            tell("a game of two players who play by mail cannot be rated: the service draws all cards"),
            hint=tell("the game was not opened; open it unrated"),
        )


def verify_address(address: str, own: OwnAddress) -> None:
    """Checks the address of a player: one address of ASCII, and none of the service. It is not repeated in errors.

    Raises `MalformedError` and `IllegalError`.
    """
    if not is_mailbox(address):
        raise MalformedError(
            tell("mail address"),
            tell("it is not one address such as someone@mail.example, in plain letters"),
            hint=UNCHANGED,
        )
    local, _, host = address.lower().rpartition("@")
    tagged = own.delimiter != "" and local.startswith(f"{own.local.lower()}{own.delimiter}")
    if host == own.host.lower() and (local == own.local.lower() or tagged):
        raise IllegalError(tell("that is an address of the service itself"), hint=UNCHANGED)


def verify_language(lang: str) -> None:
    """Raises `IllegalError` for a language in which no letters are written."""
    if lang not in LANGUAGES:
        raise IllegalError(
            tell("letters are not written in that language"),
            hint=tell("nothing was changed; languages: {names}", names=", ".join(LANGUAGES)),
        )


def read_certificate(kept: KeptCertificate) -> Gateway:
    """Returns the certificate that a row keeps."""
    return require_strong_gateway(read_gateway(decode(kept.text, tell("certificate"))))


def no_mail(*, operator: bool) -> IllegalError:
    """Returns the error for play by mail at a service that sends none, with the next step of who asks for it."""
    hint = (
        tell(
            'nothing was changed; set `mail`, as docs/hosting.md says under "Mail"; if a file of settings has it, '
            "name the file with --config"
        )
        if operator
        else tell("nothing was changed; ask the operator of the service")
    )
    return IllegalError(tell("this service sends no mail, so nobody can play by mail"), hint=hint)


async def find_held_players(store: Store, settings: Settings, sources: ClockAndEntropy) -> HeldPlayers | None:
    """Returns the use cases for a command beside the service; None if no service has used the store yet."""
    identity = await store.identity()
    if identity is None:
        return None
    key, origin = identity
    signer = PrivateKey.from_openssh(key.encode())
    return HeldPlayers(store, sources, signer, settings, origin=settings.origin or origin)
