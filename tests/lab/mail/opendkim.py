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


def start(service: str, players: str, names: NameServer) -> None:
    """Makes keys for both domains, publishes them, and starts both programs."""
    Path("/run/opendkim").mkdir()
    subprocess.run(["chown", "opendkim", "/run/opendkim"], check=True)
    guide = (EXAMPLES / "opendkim.conf").read_text().replace("hanamikoji.example", service)
    _key(service, "hkoji", Path("/etc/dkimkeys/hkoji.private"), names)
    _start("service", guide)
    key = _key(players, "post", Path("/etc/dkimkeys/post.private"), names)
    _start("players", _PROVIDER.format(domain=players, selector="post", key=key))


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
    path = Path(f"/etc/opendkim-{name}.conf")
    path.write_text(f"{settings}\nNameservers 127.0.0.1\n")
    done = subprocess.run(["opendkim", "-x", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
