"""The mail servers' set-up: two Postfix instances and two OpenDKIMs.

One of each is beside the service, with the lines and the file of the hosting guide; the others are the provider's.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from hkoji.log.canonical import encode_base64
from tests.lab.mail.names import NameServer, text_record

EXAMPLES: Final = Path(__file__).parents[3] / "examples" / "hosting"
_COMMON: Final = """\
compatibility_level = 3.6
maillog_file = /var/log/{name}.log
queue_directory = /var/spool/postfix-{name}
data_directory = /var/lib/postfix-{name}
myhostname = {host}
mydomain = {domain}
myorigin = $mydomain
mydestination =
alias_maps =
alias_database =
local_recipient_maps =
inet_interfaces = {address}
inet_protocols = ipv4
smtp_bind_address = {source}
mynetworks = {senders}
biff = no
append_dot_mydomain = no
# Reports about the queue do not wait for minutes, and what is put off is tried again soon.
minimal_backoff_time = 2s
maximal_backoff_time = 4s
queue_run_delay = 2s
smtpd_recipient_restrictions = permit_mynetworks, reject_unauth_destination
smtpd_relay_restrictions = permit_mynetworks, reject_unauth_destination
# Tests send more than people do.
smtpd_client_connection_count_limit = 0
in_flow_delay = 0
"""
_SERVICES: Final = """\
smtp      inet  n - n - - smtpd
pickup    unix  n - n 60 1 pickup
cleanup   unix  n - n - 0 cleanup
qmgr      unix  n - n 300 1 qmgr
rewrite   unix  - - n - - trivial-rewrite
bounce    unix  - - n - 0 bounce
defer     unix  - - n - 0 bounce
trace     unix  - - n - 0 bounce
verify    unix  - - n - 1 verify
flush     unix  n - n 1000? 0 flush
proxymap  unix  - - n - - proxymap
smtp      unix  - - n - - smtp
relay     unix  - - n - - smtp
showq     unix  n - n - - showq
error     unix  - - n - - error
retry     unix  - - n - - error
discard   unix  - - n - - discard
lmtp      unix  - - n - - lmtp
anvil     unix  - - n - 1 anvil
scache    unix  - - n - 1 scache
postlog   unix-dgram n - n - 1 postlogd
"""


@dataclass
class Postfix:
    """An instance with its own configuration, queue and log. `senders` may send to any domain."""

    name: str
    domain: str
    host: str
    address: str
    source: str
    """The address that it sends from."""
    senders: str
    lines: str

    @property
    def folder(self) -> Path:
        """The folder of its configuration."""
        return Path(f"/etc/postfix-{self.name}")

    def write(self) -> None:
        """Writes the configuration."""
        self.folder.mkdir()
        fields = {name: getattr(self, name) for name in ("name", "domain", "host", "address", "source", "senders")}
        (self.folder / "main.cf").write_text(_COMMON.format(**fields) + self.lines)
        (self.folder / "master.cf").write_text(_SERVICES)
        for path in (Path(f"/var/spool/postfix-{self.name}"), Path(f"/var/lib/postfix-{self.name}")):
            path.mkdir()
        subprocess.run(["chown", "postfix", f"/var/lib/postfix-{self.name}"], check=True)

    def start(self) -> None:
        """Starts it, and returns when it listens."""
        self._run("postfix", "start")

    def serve(self, domain: str, door: tuple[str, int]) -> None:
        """Takes mail for another domain too, and gives it to another door."""
        place = f"lmtp:inet:{door[0]}:{door[1]}"
        self._run(
            "postconf",
            f"relay_domains={self.domain}, {domain}",
            f"transport_maps=inline:{{{{{domain} = {place}}}}}",
            "relay_recipient_maps=",
        )
        self._run("postfix", "stop")
        self.start()

    def queue(self) -> list[Any]:  # Any: JSON
        """The queue: a description of each message."""
        return [json.loads(line) for line in self._run("postqueue", "-j").splitlines()]

    @property
    def log(self) -> str:
        path = Path(f"/var/log/{self.name}.log")
        return path.read_text(errors="replace") if path.exists() else ""

    def _run(self, program: str, *words: str) -> str:
        done = subprocess.run(
            [program, "-c", str(self.folder), *words], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, f"{program} {' '.join(words)}: {done.stdout}{done.stderr}\n{self.log[-2000:]}"
        return done.stdout


def beside_the_service(domain: str, local: str) -> Postfix:
    """The instance beside the service, with the guide's lines for `local`@`domain`. Writes the table of recipients."""
    recipients = (EXAMPLES / "postfix-recipients").read_text()
    recipients = recipients.replace("hanamikoji\\.example", domain.replace(".", "\\.")).replace("^play", f"^{local}")
    Path("/etc/postfix").mkdir(exist_ok=True)
    Path("/etc/postfix/hkoji-recipients").write_text(recipients)
    lines = (EXAMPLES / "postfix-main.cf").read_text().replace("hanamikoji.example", domain)
    return Postfix("service", domain, f"mail.{domain}", "127.0.0.1", "127.0.0.5", "127.0.0.1/32", lines)


def of_the_players(domain: str, others: Sequence[str], milter: str) -> Postfix:
    """The provider's instance, which delivers to Dovecot. Players send from 127.0.0.3. It has `others` domains too.

    All mailboxes exist but those whose names begin with `nobody`: a table that changes would be read too late.
    """
    lines = f"""\
virtual_mailbox_domains = {", ".join((domain, *others))}
virtual_mailbox_maps = regexp:/etc/postfix-players/mailboxes
virtual_transport = lmtp:inet:127.0.0.2:24
lmtp_destination_recipient_limit = 1
recipient_delimiter = +
smtpd_milters = {milter}
non_smtpd_milters = $smtpd_milters
milter_default_action = tempfail
"""
    return Postfix("players", domain, f"mx.{domain}", "127.0.0.2", "127.0.0.2", "127.0.0.3/32", lines)


_PROVIDER: Final = """\
Mode sv
Domain {domain}
Selector {selector}
KeyFile {key}
Canonicalization relaxed/simple
InternalHosts 127.0.0.1,127.0.0.3
AuthservID mx.{domain}
AlwaysAddARHeader yes
Socket inet:8892@127.0.0.2
UserID opendkim
PidFile /run/opendkim/players.pid
"""


def start_beside_the_service(domain: str, names: NameServer) -> None:
    """Makes a key, publishes it, and starts the program with the guide's file."""
    guide = (EXAMPLES / "opendkim.conf").read_text().replace("hanamikoji.example", domain)
    _key(domain, "hkoji", Path("/etc/dkimkeys/hkoji.private"), names)
    _start("service", guide)


def start_of_the_players(domain: str, names: NameServer) -> None:
    """Makes a key, publishes it, and starts the provider's program, which also verifies."""
    key = _key(domain, "post", Path("/etc/dkimkeys/post.private"), names)
    _start("players", _PROVIDER.format(domain=domain, selector="post", key=key))


def _key(domain: str, selector: str, path: Path, names: NameServer) -> Path:
    key = generate_private_key(65537, 2048)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))
    path.chmod(0o600)
    subprocess.run(["chown", "opendkim", str(path)], check=True)
    public = encode_base64(key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
    names.add(f"{selector}._domainkey.{domain}", "TXT", text_record(f"v=DKIM1; k=rsa; p={public}"))
    return path


def _start(name: str, settings: str) -> None:
    Path("/run/opendkim").mkdir(exist_ok=True)
    subprocess.run(["chown", "opendkim", "/run/opendkim"], check=True)
    path = Path(f"/etc/opendkim-{name}.conf")
    path.write_text(f"{settings}\nNameservers 127.0.0.1\n")
    done = subprocess.run(["opendkim", "-x", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
