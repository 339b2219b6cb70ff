"""Keys are made here, given by the user, or held by a real ssh-agent."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from hkoji.client import identity as identities
from hkoji.client.identity import AgentSigner, Identity, create, load, make_key
from hkoji.client.kept.home import Home
from hkoji.errors import ExistsError, LoginError, MalformedError, StorageError
from hkoji.game.commitments import entropy_of_key
from hkoji.log import sshsig
from hkoji.log.private_key import PrivateKey
from tests.support.agent import add_key, running_agent, socket_path
from tests.support.memory_service import URL, LocalPlayer, MemoryService, begin, play_on

SEED = bytes(range(32))

needs_ssh = pytest.mark.skipif(
    not (shutil.which("ssh-agent") and shutil.which("ssh-add") and shutil.which("ssh-keygen")),
    reason="OpenSSH's programs are not installed here",
)


def signs(identity: Identity) -> bool:
    blob = identity.signer.sign(sshsig.LOGIN, b"text\n")
    sshsig.verify(blob, identity.key, sshsig.LOGIN, b"text\n", identity.name)
    return True


def keygen(path: Path, passphrase: str = "", kind: str = "ed25519") -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "a comment", "-f", str(path)], check=True)
    return path


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A running ssh-agent."""
    with running_agent() as path:
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        yield path


def test_a_new_key_is_made_and_found_again(tmp_path: Path) -> None:
    home = Home(tmp_path)
    made = create(home, "alice", None, SEED)
    again = load(home)
    assert (again.name, again.key) == ("alice", made.key)
    assert signs(again)
    assert PrivateKey.from_openssh(home.key_file.read_bytes()).public == made.key
    assert home.key_file.with_suffix(".pub").read_text() == f"{made.key.text} alice\n"


_KILLED = """
import os, signal, sys
from pathlib import Path
from hkoji.client.kept.home import Home
from hkoji.client.identity import make_key

calls, replace = [], Path.replace

def killed(path, target):
    calls.append(path)
    if len(calls) == {number}:
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(path, target)

Path.replace = killed
make_key(Home(Path(sys.argv[1])).spare_key_file(), "alice", bytes(32))
"""


@pytest.mark.parametrize("number", [1, 2])
def test_a_key_whose_making_was_killed_leaves_nothing_beside_the_next_one(tmp_path: Path, number: int) -> None:
    """The next one has the same name, so its drafts take the place of those that were left."""
    killed = subprocess.run([sys.executable, "-c", _KILLED.format(number=number), str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == number
    made = make_key(Home(tmp_path).spare_key_file(), "alice", SEED)
    assert {each.name for each in tmp_path.iterdir()} == {"id_ed25519-2", "id_ed25519-2.pub"}
    assert made.file.with_name("id_ed25519-2.pub").read_text() == f"{made.public.text} alice\n"


def test_there_is_one_player_in_a_home(tmp_path: Path) -> None:
    home = Home(tmp_path)
    create(home, "alicia", None, SEED)
    before = home.key_file.read_bytes()
    assert create(home, "alice", None, b"\x01" * 32).name == "alice"  # nobody knows the old name yet
    assert load(home).name == "alice"
    home.update_config(server="http://127.0.0.1:1")
    with pytest.raises(ExistsError, match="alice"):
        create(home, "bob", None, b"\x01" * 32)
    assert home.key_file.read_bytes() == before


@pytest.mark.parametrize("name", ["", "a", "Alice", "server", "a b", "-a", "a" * 33, "é1", "../x"])
def test_not_every_name_is_one(tmp_path: Path, name: str) -> None:
    with pytest.raises(MalformedError):
        create(Home(tmp_path), name, None, SEED)
    assert list(tmp_path.iterdir()) == []


@needs_ssh
def test_an_existing_key_is_used_where_it_lies(tmp_path: Path) -> None:
    key = keygen(tmp_path / "key")
    home = Home(tmp_path / "home")
    made = create(home, "alice", key, b"")
    assert signs(load(home))
    assert made.key.text == " ".join(key.with_suffix(".pub").read_text().split()[:2])
    assert not home.key_file.exists()
    key.unlink()
    with pytest.raises(StorageError, match="No such file"):
        _ = load(home).signer
    keygen(key)
    with pytest.raises(LoginError, match="another key"):
        _ = load(home).signer


@needs_ssh
def test_a_key_in_the_agent_signs_and_is_never_read(tmp_path: Path, agent: Path) -> None:
    locked = keygen(tmp_path / "locked", "secret")
    with pytest.raises(LoginError, match="does not sign"):
        signs(create(Home(tmp_path / "early"), "alice", locked, b""))
    add_key(agent, locked, "secret")
    for number, file in enumerate((locked, locked.with_suffix(".pub"))):
        home = Home(tmp_path / f"home{number}")
        create(home, "alice", file, b"")
        assert signs(load(home))
    public = " ".join(locked.with_suffix(".pub").read_text().split()[:2])
    assert load(Home(tmp_path / "home0")).key.text == load(Home(tmp_path / "home1")).key.text == public


@needs_ssh
def test_a_whole_game_with_a_key_in_the_agent(
    tmp_path: Path, agent: Path, service: MemoryService, bob: LocalPlayer
) -> None:
    key = keygen(tmp_path / "key")
    add_key(agent, key)
    private = key.read_bytes()
    key.unlink()
    alice = LocalPlayer(service, "alice", tmp_path / "alice")
    create(Home(alice.path), "alice", key.with_suffix(".pub"), b"")
    alice.client.register(URL)
    game = begin(alice, bob)
    play_on((alice, bob), game, 6)
    lines = service.games[game].lines
    assert len(lines) == 11
    # Another agent may sign differently, so the entropy is drawn at random and kept.
    of_key = entropy_of_key(PrivateKey.from_openssh(private), game, lines[0].entry.head)
    assert of_key not in [entry.body.get("entropy") for entry in (line.entry for line in lines)]
    of_key = entropy_of_key(PrivateKey.from_openssh(Home(bob.path).key_file.read_bytes()), game, lines[0].entry.head)
    assert of_key in [entry.body.get("entropy") for entry in (line.entry for line in lines)]
    assert service.players["alice"] == PrivateKey.from_openssh(private).public.text


@needs_ssh
def test_the_wrong_kind_of_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LoginError, match="not an Ed25519"):
        create(Home(tmp_path / "home"), "alice", keygen(tmp_path / "key", kind="ecdsa"), b"")
    with pytest.raises(LoginError, match="not an Ed25519"):
        create(Home(tmp_path / "home"), "alice", tmp_path / "key.pub", b"")
    (tmp_path / "text").write_text("no key\n")
    with pytest.raises(MalformedError):
        create(Home(tmp_path / "home"), "alice", tmp_path / "text", b"")
    assert not (tmp_path / "home").exists()


def test_without_an_agent_one_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    signer = AgentSigner(PrivateKey.from_seed(SEED).public, print)
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with pytest.raises(LoginError) as none:
        signer.sign(sshsig.LOGIN, b"")
    assert "ssh-agent" in none.value.hint
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "nothing"))
    with pytest.raises(LoginError, match="does not answer"):
        signer.sign(sshsig.LOGIN, b"")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        struct.pack(">I", 1) + b"\x05",
        struct.pack(">I", 2**31),
        struct.pack(">I", 10) + b"\x0e123",
        struct.pack(">I", 88) + b"\x0e" + struct.pack(">I", 83) + b"x" * 83,
    ],
)
def test_an_agent_may_say_anything(monkeypatch: pytest.MonkeyPatch, answer: bytes) -> None:
    with socket_path() as path, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        with pytest.raises(LoginError):
            AgentSigner(PrivateKey.from_seed(SEED).public, print).sign(sshsig.LOGIN, b"")
        thread.join(300)


@pytest.mark.parametrize(("started", "answer"), [(b"", "nothing"), (b"\0", "a byte")])
def test_an_agent_that_does_not_answer_is_told_of_and_given_up(
    monkeypatch: pytest.MonkeyPatch, started: bytes, answer: str
) -> None:
    monkeypatch.setattr(identities, "_REMARK_AFTER", 0.05)
    monkeypatch.setattr(identities, "_GIVE_UP_AFTER", 0.2)
    said: list[str] = []
    with socket_path() as path, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        held: list[socket.socket] = []

        def serve() -> None:
            connection, _ = listener.accept()
            held.append(connection)
            connection.sendall(started)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        with pytest.raises(LoginError, match="has not answered") as silent:
            AgentSigner(PrivateKey.from_seed(SEED).public, said.append).sign(sshsig.LOGIN, b"")
        thread.join(300)
        held[0].close()
    assert "nothing was sent" in silent.value.hint
    assert len(said) == (1 if answer == "nothing" else 0)


def public_key(kind: str) -> bytes:
    """A public key of a kind, as ssh-keygen writes it."""
    name = kind.encode()
    blob = struct.pack(">I", len(name)) + name + struct.pack(">I", 32) + b"x" * 32
    return f"{kind} {b64encode(blob).decode()} somebody@somewhere\n".encode()


@pytest.mark.parametrize(
    "kind",
    ["sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com", "ecdsa-sha2-nistp384", "ssh-rsa", "ssh-dss"],
)
def test_a_public_key_of_another_kind_is_called_what_it_is(tmp_path: Path, kind: str) -> None:
    (tmp_path / "key.pub").write_bytes(public_key(kind))
    with pytest.raises(LoginError, match=re.escape(kind)) as refused:
        create(Home(tmp_path / "home"), "alice", tmp_path / "key.pub", b"")
    assert "ssh-keygen -t ed25519" in refused.value.hint
    assert ("security key" in refused.value.message) == kind.startswith("sk-")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("data", "said", "hint"),
    [
        ("PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n", "a key of PuTTY", "puttygen"),
        ("---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n---- END SSH2 PUBLIC KEY ----\n", "RFC 4716", "ssh-keygen -i"),
        ("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n", "a private key in PEM form", "ssh-keygen -t ed25519"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n", "a private key in PEM form", "ssh-keygen -t ed25519"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n", "a public key in PEM form", "ssh-keygen -t ed25519"),
    ],
)
def test_a_key_in_another_form_is_called_what_it_is(tmp_path: Path, data: str, said: str, hint: str) -> None:
    (tmp_path / "key").write_text(data)
    with pytest.raises(MalformedError, match=said) as refused:
        create(Home(tmp_path / "home"), "alice", tmp_path / "key", b"")
    assert hint in refused.value.hint
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("data", [b"", b"\n", b" AAAA x", b"hello"])
def test_a_file_without_a_key_is_no_key_of_another_kind(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "key").write_bytes(data)
    with pytest.raises(MalformedError, match="not an OpenSSH private key") as refused:
        create(Home(tmp_path / "home"), "alice", tmp_path / "key", b"")
    assert "ssh-keygen -t ed25519" in refused.value.hint
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "alice"}',
        '{"name": "alice", "key": 3, "key_file": "x"}',
        '{"name": "alice", "key": "k", "key_file": 1}',
    ],
)
def test_damaged_settings_are_said_to_be_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(StorageError, match="damaged"):
        load(Home(tmp_path))
