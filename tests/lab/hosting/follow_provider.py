"""Follows the part "Mail through a provider" of docs/hosting.md, with the laboratory's provider in the place of one.

The provider's Dovecot is read by IMAP with TLS, and its Postfix takes letters by submission with TLS and a password,
both with a certificate that the machine trusts. `example.org` is the provider's domain, and `editor` writes what the
page says.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.lab.hosting import followed_guide, units
from tests.lab.hosting.followed_guide import FollowedGuide
from tests.lab.mail import dovecot
from tests.lab.mail.real_post_office import PLAYERS, Provider
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import letters
from tests.support.receiver import certified

STAND_INS: Final = {
    "editor": f"""case $1 in
  */mailbox) echo {dovecot.PASSWORD} > "$1" ;;
  */service.toml) sed -i 's/example\\.org/{PLAYERS}/' "$1" ;;
esac
""",
}
OF_MAIL: Final = ("mail process", "mail tls", "probe", "delimiter", "passwords", "spf", "dmarc", "dkim key")
"""The checks of the doctor that hold with the laboratory's provider. It does not sign all fields."""
_HOSTS: Final = (f"imap.{PLAYERS}", f"smtp.{PLAYERS}")
_INSIDE: Final = "127.0.0.2"
_TRUSTED: Final = Path("/etc/ssl/certs/ca-certificates.crt")
_CERTIFICATE: Final = Path("/etc/provider/certificate.pem")


def _imaps(address: str) -> str:
    """Lines for Dovecot, which then listens with TLS too."""
    return f"""
listen = {", ".join(dict.fromkeys((_INSIDE, address)))}
ssl = yes
ssl_cert = <{_CERTIFICATE}
ssl_key = <{_CERTIFICATE}
service imap-login {{
  inet_listener imaps {{
    port = 993
    ssl = yes
  }}
}}
service auth {{
  inet_listener {{
    address = {_INSIDE}
    port = 12345
  }}
}}
"""


def _submission(address: str) -> str:
    """Lines for master.cf: letters are taken from those who have a password."""
    return f"""\
tlsmgr    unix  - - n 1000? 1 tlsmgr
{address}:465 inet n - n - - smtpd
  -o smtpd_tls_wrappermode=yes
  -o smtpd_tls_cert_file={_CERTIFICATE}
  -o smtpd_tls_key_file={_CERTIFICATE}
  -o smtpd_sasl_auth_enable=yes
  -o smtpd_sasl_type=dovecot
  -o smtpd_sasl_path=inet:{_INSIDE}:12345
  -o smtpd_recipient_restrictions=permit_sasl_authenticated,reject
  -o smtpd_relay_restrictions=permit_sasl_authenticated,reject
"""


class OpenProvider(Provider):
    """The provider, which lets programs read mailboxes and send from them, with TLS, at one of its addresses."""

    def __init__(self, address: str = _INSIDE) -> None:
        super().__init__()
        for host in _HOSTS:
            self.names.add(host, "A", address)
        self.names.add(PLAYERS, "TXT", '"v=spf1 mx -all"')
        self.names.add(f"_dmarc.{PLAYERS}", "TXT", '"v=DMARC1; p=none"')
        _CERTIFICATE.parent.mkdir()
        certified(_CERTIFICATE.parent, *_HOSTS)
        with _TRUSTED.open("a") as trusted:
            trusted.write(_CERTIFICATE.read_text().partition("-----BEGIN PRIVATE KEY")[0])
        with Path("/etc/dovecot/dovecot.conf").open("a") as settings:
            settings.write(_imaps(address))
        with (self.players.folder / "master.cf").open("a") as services:
            services.write(_submission(address))


def follow_with_provider(guide: FollowedGuide, provider: OpenProvider) -> None:
    """Goes through the page."""
    nothing, part = followed_guide.section("From nothing"), followed_guide.section("Mail through a provider")
    provider.open("club")
    guide.run_all(nothing[nothing.index("2. **A user**") : nothing.index("4. **TLS**")])
    before, trial = part.split("5. **A trial", 1)
    set_up, check = before.split("4. **A check", 1)
    guide.run_all(set_up)
    (command,) = followed_guide.commands(check)
    said = guide.run(command)
    guide.see_ok(said, *OF_MAIL)
    you = MailboxPlayer(provider.open("you"))
    invite, *later = followed_guide.commands(trial)
    guide.run(invite)
    if not guide.until(lambda: letters(you.mailbox)):
        guide.see("a letter comes", False, units.journal("hkoji-mail"))
        return
    letter = you.next_letter()
    guide.see("the provider has signed the letter", f"d={PLAYERS}" in letter.field("DKIM-Signature"), letter.raw)
    you.answer(letter, "accept")
    guide.see("the answer is answered", guide.until(lambda: len(letters(you.mailbox)) > 1), units.journal("hkoji-mail"))
    guide.prints(trial.replace(invite, ""))
    guide.see("one command is left to print", len(later) == 1, later)
    put_away = [*Path("/var/vmail/club/mail/.hkoji-done").glob("[cn][ue][rw]/*")]
    guide.see("what the service has kept is put away", put_away, units.journal("hkoji-mail"))
