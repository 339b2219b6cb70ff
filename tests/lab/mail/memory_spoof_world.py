"""The world in which spoofed mails are sent within this process: the provider signs, and the DNS answers, in memory."""

from __future__ import annotations

from collections.abc import Sequence

from tests.lab.mail.spoof import SIGNING
from tests.support.mail.assembled import AssembledMail
from tests.support.mail.dkim_signer import Signer, rsa_key


class MemorySpoofWorld(AssembledMail):
    """See `spoof.SpoofWorld`."""

    def signed(self, sender: str, raw: bytes) -> bytes:
        domain = sender.partition("@")[2]
        if domain != SIGNING:
            return raw
        signer = Signer(domain, "post", rsa_key("post"), tags={"t": str(int(self.now()))})
        self.publish(signer.name, [signer.record])
        return signer.sign(raw)

    def publish(self, name: str, texts: Sequence[str]) -> None:
        self.records[name] = texts

    def silence(self, name: str) -> None:
        """Nobody who asks can tell silence from a name that is not there."""
        self.records.pop(name, None)
