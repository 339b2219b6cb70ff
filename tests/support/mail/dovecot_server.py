"""A Dovecot of its own: mailboxes by IMAP with TLS and without, in a folder, on any ports of loopback."""

from __future__ import annotations

import getpass
import grp
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.support.mail.mail_servers import command, layer, missing_packages
from tests.support.metrics import free_port

PASSWORD: Final = "s3cret"
_SECONDS: Final = 30
_SETTINGS: Final = """\
protocols = imap
listen = 127.0.0.1
base_dir = {folder}/run
state_dir = {folder}/state
instance_name = {folder}
log_path = {folder}/dovecot.log
default_internal_user = {internal}
default_login_user = {login}
default_internal_group = {group}
ssl = yes
ssl_cert = <{folder}/certificate.pem
ssl_key = <{folder}/certificate.pem
disable_plaintext_auth = no
mail_location = maildir:{folder}/mail
mail_uid = {uid}
mail_gid = {gid}
first_valid_uid = 0
first_valid_gid = 0
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/home
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
"""


class DovecotServer:
    """A running Dovecot with one mailbox, whose maildir is below `folder`."""

    def __init__(self, folder: Path, owner: tuple[int, int], port: int, tls_port: int) -> None:
        self.folder = folder
        self._owner = owner
        self.port = port
        self.tls_port = tls_port
        self._number = 0

    @property
    def inbox(self) -> list[bytes]:
        """The mails in the inbox, with the line ends of the disk."""
        return self._in(self.folder / "mail")

    @property
    def done(self) -> list[bytes]:
        """The mails that were put away."""
        return self._in(self.folder / "mail" / ".hkoji-done")

    @property
    def log(self) -> str:
        return (self.folder / "dovecot.log").read_text(errors="replace")

    def deliver(self, raw: bytes) -> None:
        """Puts a mail into the inbox, as a delivery agent does: it is there at once, or not at all."""
        self._number += 1
        name = f"{time.time_ns()}.M{self._number}.here"
        for each in ("tmp", "new", "cur"):
            (self.folder / "mail" / each).mkdir(exist_ok=True)
            os.chown(self.folder / "mail" / each, *self._owner)
        written = self.folder / "mail" / "tmp" / name
        written.write_bytes(raw.replace(b"\r\n", b"\n"))
        os.chown(written, *self._owner)
        written.rename(self.folder / "mail" / "new" / name)

    def number_anew(self) -> None:
        """Gives all mails other UIDs, as after a restored backup."""
        for each in (self.folder / "mail").glob("dovecot*"):
            each.unlink()

    def restore(self) -> None:
        """Puts all that was put away back into the inbox."""
        for each in (self.folder / "mail" / ".hkoji-done").glob("[cn][ue][rw]/*"):
            each.rename(self.folder / "mail" / "new" / each.name.partition(":")[0])

    def _in(self, folder: Path) -> list[bytes]:
        return [each.read_bytes() for each in sorted(folder.glob("[cn][ue][rw]/*"))]


@contextmanager
def dovecot_server(certificate: Path) -> Iterator[DovecotServer]:
    """Runs a Dovecot for the duration of a block. Skips the test where the machine has none.

    The file `certificate` has its certificate and key.
    """
    if {"dovecot-core", "dovecot-imapd"} & set(missing_packages()) and layer() is None:
        pytest.skip("this machine has no Dovecot (Debian's packages dovecot-core and dovecot-imapd)")
    root, port, tls_port = os.geteuid() == 0, free_port(), free_port()
    user = getpass.getuser()
    # Dovecot reads no mail as root; and the folders of tests are open to their user only.
    nobody = pwd.getpwnam("nobody" if root else user)
    folder = Path(tempfile.mkdtemp(prefix="hkoji-dovecot-"))
    folder.chmod(0o755)
    shutil.copy(certificate, folder / "certificate.pem")
    for each in ("home", "mail"):
        (folder / each).mkdir()
        os.chown(folder / each, nobody.pw_uid, nobody.pw_gid)
    (folder / "dovecot.conf").write_text(
        _SETTINGS.format(
            folder=folder,
            internal="dovecot" if root else user,
            login="dovenull" if root else user,
            group="dovecot" if root else grp.getgrgid(os.getegid()).gr_name,
            uid=nobody.pw_uid,
            gid=nobody.pw_gid,
            password=PASSWORD,
            port=port,
            tls_port=tls_port,
        )
    )
    with (folder / "stderr").open("wb") as stderr:
        process = subprocess.Popen(
            command(["/usr/sbin/dovecot", "-F", "-c", str(folder / "dovecot.conf")]), stdout=stderr, stderr=stderr
        )
    try:
        end = time.monotonic() + _SECONDS
        while not _listens(port):
            assert process.poll() is None, (folder / "stderr").read_text()
            assert time.monotonic() < end, (folder / "stderr").read_text()
            time.sleep(0.02)
        yield DovecotServer(folder, (nobody.pw_uid, nobody.pw_gid), port, tls_port)
    finally:
        process.terminate()
        process.wait(_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def _listens(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0
