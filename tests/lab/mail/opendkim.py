"""OpenDKIM: one beside the service, with the file of the hosting guide, one at the players' provider."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from hkoji.log.canonical import encode_base64
from tests.lab.mail.names import NameServer, text_record
from tests.lab.mail.postfix import EXAMPLES

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
