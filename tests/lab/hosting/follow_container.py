"""Follows the part "A container" of docs/hosting.md to the letter, with the Compose file and Podman.

    sudo podman build --file examples/hosting/Containerfile --tag hkoji .
    python -m tests.lab.hosting.follow_container

The image is built before, because the namespaces have no way out. Every other command is read from the page and from
the head of the Compose file, and run as it stands there. Only this differs from a machine on the internet:

- the Compose file names the laboratory's provider, whose certificate a second file lets the container trust;
- `podman compose` is podman-compose, and `sudo` changes only the user;
- health checks are run here, as no systemd runs them;
- `git pull` and the build of an upgrade are left out.

Two players play from outside by the command line, over TLS through nginx, and one of them against a mailbox. Prints
each command, and what did not come as the page says. Exit code 1 if something was wrong, 3 if this machine lacks
something.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import yaml  # type: ignore[import-untyped]

from tests.lab.hosting import followed_guide
from tests.lab.hosting.follow_provider import OF_MAIL, OpenProvider
from tests.lab.hosting.followed_guide import DOMAIN, FollowedGuide, GuideError
from tests.lab.mail import dovecot
from tests.lab.mail.namespaces import CANNOT, FOLDER, enter, run_inside
from tests.lab.mail.real_post_office import PLAYERS
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import letters
from tests.support.mail.reading import offered
from tests.support.receiver import certified

_EXAMPLES: Final = Path(__file__).parents[3] / "examples" / "hosting"
_IMAGES: Final = "HKOJI_LABORATORY_IMAGES"
"""The variable that has the folder of Podman's images, within the namespaces."""
_PROGRAMS: Final = ("podman", "podman-compose", "nginx", "ip")
_ADDRESS: Final = "192.0.2.2"
"""The provider's address: one that containers reach, unlike those of loopback."""
_TRUSTED: Final = "/etc/ssl/certs/ca-certificates.crt"
_OVERRIDE: Final = f"services: {{mail: {{volumes: ['{_TRUSTED}:{_TRUSTED}:ro']}}}}\n"
_CONTAINERS: Final = ("hosting_serve_1", "hosting_mail_1")
_CERTIFICATES: Final = Path("/etc/letsencrypt/live", DOMAIN)
_SECONDS: Final = 240
_PODMAN: Final = """\
[ "$1" = compose ] || exec {podman} "$@"
shift
(while sleep 2; do {podman} healthcheck run {serve}; done) > /dev/null 2>&1 & checks=$!
trap 'kill $checks' EXIT
{compose} "$@"
"""
_STORAGE: Final = """\
[storage]
driver = "overlay"
graphroot = "{folder}/containers"
runroot = "/run/containers/storage"
[storage.options]
additionalimagestores = ["{images}"]
"""


class ContainerTrial:
    """The containers, and players outside of them."""

    def __init__(self, folder: Path, guide: FollowedGuide, provider: OpenProvider) -> None:
        self._folder = folder
        self._guide = guide
        self._provider = provider
        self._bob = MailboxPlayer(provider.open("bob"))
        self._rng = random.Random(1)
        self._made: dict[str, Any] = yaml.safe_load((_EXAMPLES / "compose.yaml").read_text())  # Any: YAML

    def follow(self) -> None:
        """Goes through the page."""
        guide, part = self._guide, followed_guide.section("A container")
        *begin, doctor = re.findall(r"^#   (.+)$", (_EXAMPLES / "compose.yaml").read_text(), re.M)
        for command in begin:
            guide.run(command.replace("the password of the mailbox", dovecot.PASSWORD))
        self._proxy()
        self._ready()
        guide.see_ok(guide.run(doctor), "database", "durability", "permissions", *OF_MAIL)
        self._bounds()
        games = self._games()
        self._stop()
        operators, rest = part.split("To upgrade:", 1)
        upgrade, restore = rest.split("To [restore]", 1)
        _, *inside = followed_guide.commands(operators)
        said = "".join(map(guide.run, inside))
        guide.see("the copy is complete", "The copy is complete" in said, said)
        (copy,) = Path("/var/backups/hkoji").glob("*.sqlite3")
        for words in (upgrade, restore):
            for command in followed_guide.commands(words):
                if not command.endswith("compose build"):
                    guide.run(command.replace("COPY", copy.name))
            self._ready()
            self._same(games)
        self._move(games[0], 2)
        guide.see_ok(guide.run(f"{doctor} --backups /backups"), "backups", *OF_MAIL)

    def _proxy(self) -> None:
        """Starts nginx with the page's file, and a certificate."""
        _CERTIFICATES.mkdir(parents=True)
        certified(_CERTIFICATES, DOMAIN)
        for name in ("fullchain.pem", "privkey.pem"):
            shutil.copy(_CERTIFICATES / "certificate.pem", _CERTIFICATES / name)
        shutil.copy(_EXAMPLES / "nginx.conf", "/etc/nginx/conf.d/hkoji.conf")
        self._guide.run("nginx")

    def _ready(self) -> None:
        url = f"https://{DOMAIN}/readyz"
        asked = ["curl", "--silent", "--fail", "--cacert", str(_CERTIFICATES / "fullchain.pem"), url]
        ready = self._guide.until(lambda: subprocess.run(asked, capture_output=True, check=False).returncode == 0)
        self._guide.see("ready through the proxy, over TLS", ready, self.logs())

    def _bounds(self) -> None:
        """Looks at what the processes may do, and at the address that the proxy has for them."""
        script = "id -u; grep -E '^(CapBnd|NoNewPrivs)' /proc/1/status; touch /x /src/x; touch /tmp/x && echo written"
        for name in _CONTAINERS:
            said = _podman("exec", name, "sh", "-c", script)
            wanted = ("10001", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "written")
            bounded = [*wanted] == said.stdout.splitlines() and said.stderr.count("Read-only file system") == 2
            self._guide.see(f"{name}: an own user, no rights, a read-only root", bounded, said)
        (config,) = self._made["networks"]["hkoji"]["ipam"]["config"]
        gateway = socket.inet_aton(config["gateway"])[::-1].hex().upper()
        with socket.create_connection(("127.0.0.1", 8000)):
            said = _podman("exec", _CONTAINERS[0], "cat", "/proc/net/tcp")
            self._guide.see("the proxy has the trusted address", f"{gateway}:" in said.stdout, said.stdout)

    def _games(self) -> tuple[str, str]:
        """Begins a game against a mailbox and one of two command lines, and plays some moves of both."""
        for name in ("alice", "carol"):
            self._hkoji(name, "init", name)
            self._hkoji(name, "register", "--server", f"https://{DOMAIN}")
        mailed, other = (
            json.loads(self._hkoji("alice", "new", "--json", *words).splitlines()[-1])["game"]
            for words in (("--invite", "bob", "--mail", self._bob.mailbox.address), ("--invite", "carol"))
        )
        self._hkoji("carol", "join", other)
        self._bob.answer(self._bob.next_letter(_SECONDS), "accept")
        self._move(other, 6)
        self._move(mailed, 4)
        grades = self._view(mailed)["by_mail"]
        self._guide.see("the service has verified the mails' signatures", grades == {"bob": "claimed"}, grades)
        return mailed, other

    def _move(self, game: str, count: int) -> None:
        """Lets both players make so many moves in all, by the command line or by mail."""
        end = time.monotonic() + _SECONDS
        begin = seq = self._view(game)["seq"]
        while seq < begin + count and time.monotonic() < end:
            for name in ("alice", "carol"):
                if legal := self._view(game, name)["legal"]:
                    self._hkoji(name, "move", game, self._rng.choice(legal))
            unread = [each for each in letters(self._bob.mailbox)[self._bob.known :] if offered(each)]
            if self._view(game)["to_move"] == "bob" and unread:
                self._bob.known = len(letters(self._bob.mailbox))
                self._bob.answer(unread[-1], self._rng.choice(offered(unread[-1])))
            time.sleep(1)
            seq = self._view(game)["seq"]
        self._guide.see(f"{count} moves are made", seq >= begin + count, self.logs())

    def _stop(self) -> None:
        """Stops and starts the containers. Their processes end by themselves."""
        self._guide.run("sudo podman compose stop")
        for name in _CONTAINERS:
            code = _podman("inspect", "--format", "{{.State.ExitCode}}", name).stdout.strip()
            self._guide.see(f"{name} ends with exit code 0", code == "0", code)
        self._guide.run("sudo podman compose start")
        self._ready()

    def _same(self, games: tuple[str, str]) -> None:
        for game in games:
            self._guide.see(f"game {game[:8]} goes on", self._view(game)["status"] == "playing")

    def _view(self, game: str, name: str = "alice") -> Any:  # Any: JSON
        said = self._tried(name, "show", game, "--json")
        return (
            json.loads(said.stdout) if said.returncode == 0 else {"seq": -1, "legal": [], "to_move": "", "status": ""}
        )

    def _hkoji(self, home: str, *words: str) -> str:
        done = self._tried(home, *words)
        self._guide.see(f"{home}: hkoji {words[0]}", done.returncode == 0, done.stdout + done.stderr)
        return done.stdout

    def _tried(self, home: str, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "SSL_CERT_FILE": str(_CERTIFICATES / "fullchain.pem"),
            "HKOJI_HOME": str(self._folder / home),
            "HKOJI_CONFIG": os.devnull,
        }
        command = [str(Path(sys.executable).with_name("hkoji")), *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    @staticmethod
    def logs() -> str:
        return "".join(done.stdout + done.stderr for done in (_podman("logs", "--tail", "9", n) for n in _CONTAINERS))


def _podman(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["podman", *words], capture_output=True, text=True, check=False)


def _why_not() -> str | None:
    """Says what this machine lacks; None if nothing. Passes on where Podman has the image."""
    if missing := [name for name in _PROGRAMS if not shutil.which(name)]:
        return f"needs {', '.join(missing)}"
    if _podman("image", "exists", "localhost/hkoji").returncode:
        return "needs the image hkoji: " + followed_guide.commands(followed_guide.section("A container"))[0]
    os.environ[_IMAGES] = _podman("info", "--format", "{{.Store.GraphRoot}}").stdout.strip()
    return None


def main() -> int:
    """Follows the guide. Returns the exit code."""
    if FOLDER not in os.environ:
        if reason := _why_not():
            print(f"hosting: {reason}", file=sys.stderr)
            return CANNOT
        return run_inside([], "tests.lab.hosting.follow_container")
    folder = enter()
    (folder / "storage.conf").write_text(_STORAGE.format(folder=folder, images=os.environ[_IMAGES]))
    os.environ["CONTAINERS_STORAGE_CONF"] = str(folder / "storage.conf")
    subprocess.run(["ip", "addr", "add", f"{_ADDRESS}/32", "dev", "lo"], check=True)
    programs = {name: shutil.which(f"podman{end}") for name, end in (("podman", ""), ("compose", "-compose"))}
    guide = FollowedGuide(folder, {"podman": _PODMAN.format(**programs, serve=_CONTAINERS[0])})
    guide.place = folder / "checkout" / "examples" / "hosting"
    shutil.copytree(_EXAMPLES, guide.place)
    file = guide.place / "compose.yaml"
    file.write_text(file.read_text().replace("example.org", PLAYERS))
    (guide.place / "compose.override.yaml").write_text(_OVERRIDE)
    provider = OpenProvider(_ADDRESS)
    provider.names.add(DOMAIN, "A", "127.0.0.1")
    provider.open("club")
    provider.start()
    try:
        ContainerTrial(folder, guide, provider).follow()
    except GuideError:
        print(ContainerTrial.logs())
    print(f"hosting: {len(guide.failed) or 'nothing'} wrong in the part about containers")
    return 1 if guide.failed else 0


if __name__ == "__main__":
    sys.exit(main())
