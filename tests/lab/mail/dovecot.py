"""Dovecot as the players' mailboxes: LMTP from Postfix, IMAP for reading, Sieve for what answers by itself."""

from __future__ import annotations

import os
import secrets
import subprocess
from pathlib import Path
from typing import Final

PASSWORD: Final = "laboratory"  # nothing outside of the namespaces can use it
_HOME: Final = Path("/var/vmail")
_UID: Final = 50_000
_SETTINGS: Final = f"""\
protocols = imap lmtp
listen = 127.0.0.2
ssl = no
disable_plaintext_auth = no
log_path = /var/log/dovecot.log
mail_location = maildir:~/mail
auth_username_format = %Ln
recipient_delimiter = +
sendmail_path = /usr/sbin/sendmail -C /etc/postfix-players
first_valid_uid = {_UID}
mail_max_userip_connections = 1000
# Each name is a mailbox: Postfix knows which there are.
passdb {{
  driver = static
  args = password={PASSWORD}
}}
userdb {{
  driver = static
  args = uid={_UID} gid={_UID} home={_HOME}/%n
}}
service lmtp {{
  inet_listener lmtp {{
    address = 127.0.0.2
    port = 24
  }}
}}
service imap-login {{
  inet_listener imaps {{
    port = 0
  }}
}}
protocol lmtp {{
  mail_plugins = sieve
  postmaster_address = postmaster@players.example
}}
plugin {{
  sieve = ~/rules.sieve
  sieve_vacation_send_from_recipient = yes
}}
"""


def write() -> None:
    """Writes the configuration."""
    Path("/etc/dovecot/dovecot.conf").write_text(_SETTINGS)
    for file, line in (("passwd", f"vmail:x:{_UID}:{_UID}::{_HOME}:/usr/sbin/nologin"), ("group", f"vmail:x:{_UID}:")):
        with Path("/etc", file).open("a") as lines:
            lines.write(f"{line}\n")
    _HOME.mkdir()


def start() -> None:
    """Starts it, and returns when it listens."""
    subprocess.run(["dovecot"], check=True)


def add(name: str) -> None:
    """Makes a mailbox."""
    home = _HOME / name
    home.mkdir()
    subprocess.run(["chown", f"{_UID}:{_UID}", str(home)], check=True)


def read_by_imap(name: str) -> str:
    """Returns the setting of a service that reads a mailbox."""
    return f"imap://{name}@127.0.0.2/INBOX"


def number_anew(name: str) -> int:
    """Gives all mails of a mailbox other numbers, as after a restored backup: those that were put away are back.

    Returns how many there are.
    """
    mails = _HOME / name / "mail"
    for each in (mails / ".hkoji-done").glob("[cn][ue][rw]/*"):
        each.rename(mails / "new" / each.name.partition(":")[0])
    numbers = mails / "dovecot-uidlist"
    validity = int(numbers.read_text().partition(" V")[2].split()[0])
    for each in mails.glob("dovecot*"):
        each.unlink()
    # Without the file, a Dovecot that has the mailbox open goes on with the numbers that it knows.
    numbers.write_text(f"3 V{validity + 1} N1 G{secrets.token_hex(16)}\n")
    os.chown(numbers, _UID, _UID)
    return len([*mails.glob("[cn][ue][rw]/*")])


def give_rules(name: str, sieve: str) -> None:
    """Gives a mailbox rules in Sieve: a vacation, a redirection."""
    path = _HOME / name / "rules.sieve"
    path.write_text(sieve)
    subprocess.run(["sievec", str(path)], check=True, capture_output=True)
    subprocess.run(["chown", f"{_UID}:{_UID}", str(path), str(path.with_suffix(".svbin"))], check=True)
