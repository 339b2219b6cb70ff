"""Follows docs/hosting.md on this machine, with its example files and a self-signed certificate, on loopback.

    python -m tests.lab.hosting.measure --proxy nginx|caddy

Only name, paths, ports and one limit are changed in the files. `hkoji` begins a game through the proxy, over TLS; then
come limits, metrics, backup, check, upgrade (a restart), restore, doctor. Prints the result of each step; exit code 1
if one fails, 2 if the proxy is not installed. Needs openssl.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from hkoji.processors import processors
from tests.support.metrics import free_port

EXAMPLES: Final = Path(__file__).parents[3] / "examples" / "hosting"
HKOJI: Final = Path(sys.executable).with_name("hkoji")
NAME: Final = "localhost"


class Trial:
    """A folder, the processes started in it, and the results so far."""

    def __init__(self, folder: Path, proxy: str) -> None:
        self.folder = folder
        self.proxy = proxy
        self.ports = {name: free_port() for name in ("service", "tls", "metrics")}
        self.url = f"https://{NAME}:{self.ports['tls']}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.failed = 0

    def see(self, what: str, holds: object) -> None:
        """Prints whether a check holds."""
        self.failed += not holds
        print(f"{'ok  ' if holds else 'FAIL'}  {what}", flush=True)

    def start(self, *command: object) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, env=self.environment())
        self.processes.append(process)
        return process

    def stop(self, process: subprocess.Popen[bytes]) -> int:
        """Ends a program as systemd does."""
        process.send_signal(signal.SIGTERM)
        return process.wait(60)

    def environment(self, home: str = "host") -> dict[str, str]:
        """The environment of programs: the certificate is trusted."""
        certificate = str(self.folder / "cert.pem")
        return {
            **os.environ,
            "SSL_CERT_FILE": certificate,
            "HKOJI_HOME": str(self.folder / home),
            "HKOJI_CONFIG": os.devnull,
        }

    def hkoji(self, *words: object, home: str = "host") -> tuple[int, str]:
        """A command's exit code and its output on both streams."""
        command = [str(HKOJI), *map(str, words)]
        done = subprocess.run(command, env=self.environment(home), capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def ask(self, path: str, **headers: str) -> tuple[int, Any, str]:
        """Status, headers and body of a request through the proxy."""
        request = urllib.request.Request(self.url + path, headers=headers)
        context = ssl.create_default_context(cafile=str(self.folder / "cert.pem"))
        try:
            with urllib.request.urlopen(request, timeout=30, context=context) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()
        except OSError as error:
            return 0, {}, str(error)

    def until(self, seen: Callable[[], object]) -> bool:
        """Waits until a condition is true."""
        end = time.monotonic() + 90
        while not seen():
            if time.monotonic() > end:
                return False
            time.sleep(0.2)
        return True


def write_files(trial: Trial) -> Path:
    """Writes the example files with other names, paths and ports. Returns the proxy's file."""
    folder, ports = trial.folder, trial.ports
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
    ]
    command += ["2", "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    subprocess.run(
        [*command, "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True
    )
    changes = {
        "https://hanamikoji.example": trial.url,
        "hanamikoji.example": NAME,
        "/var/lib/hkoji": str(folder / "data"),
        "127.0.0.1:8000": f"127.0.0.1:{ports['service']}",
        "port = 8000": f"port = {ports['service']}",
        "127.0.0.1:9464": f"127.0.0.1:{ports['metrics']}",
        "listen 443 ssl;": f"listen 127.0.0.1:{ports['tls']} ssl;",
        "    listen [::]:443 ssl;\n": "",
        "    listen [::]:80;\n": "",
        "listen 80;": f"listen 127.0.0.1:{free_port()};",
        "/etc/letsencrypt/live/localhost/fullchain.pem": str(folder / "cert.pem"),
        "/etc/letsencrypt/live/localhost/privkey.pem": str(folder / "key.pem"),
    }
    for name in ("service.toml", "nginx.conf", "Caddyfile"):
        text = (EXAMPLES / name).read_text()
        for old, new in changes.items():
            text = text.replace(old, new)
        if name == "service.toml":
            # So that they are reached soon, also on a slow machine.
            text += 'limit_address = "120/minute"\nmax_address_waiting = 2\n'
        if name == "nginx.conf":
            text = (
                f"pid {folder}/pid; error_log {folder}/error; worker_processes 1;\nevents {{}}\nhttp {{\n"
                + "".join(
                    f"{each}_temp_path {folder}/{each};\n"
                    for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
                )
                + f"access_log off;\n{text}}}\n"
            )
        if name == "Caddyfile":
            site = f"{NAME}:{ports['tls']} {{\n\tbind 127.0.0.1\n\ttls {folder}/cert.pem {folder}/key.pem"
            text = text.replace("{\n", "{\n\tadmin off\n\tauto_https off\n", 1).replace(f"{NAME} {{", site)
        (folder / name).write_text(text)
    return folder / ("nginx.conf" if trial.proxy == "nginx" else "Caddyfile")


def go(trial: Trial) -> None:
    """The guide's steps."""
    config = write_files(trial)
    program = shutil.which(trial.proxy)
    assert program
    checks = {"nginx": ["-t", "-c", config], "caddy": ["validate", "--adapter", "caddyfile", "--config", config]}
    runs = {
        "nginx": ["-g", "daemon off;", "-c", config],
        "caddy": ["run", "--adapter", "caddyfile", "--config", config],
    }
    checked = subprocess.run([program, *map(str, checks[trial.proxy])], capture_output=True, text=True, check=False)
    trial.see(f"{trial.proxy} understands its file", checked.returncode == 0)
    if checked.returncode:
        print(checked.stderr)
    service = trial.start(HKOJI, "serve", "--config", trial.folder / "service.toml")
    trial.start(program, *runs[trial.proxy])
    trial.see("ready through the proxy, over TLS", trial.until(lambda: trial.ask("/readyz")[0] == 200))
    headers = trial.ask("/healthz")[1]
    trial.see("browsers must use HTTPS (HSTS)", "max-age" in headers.get("strict-transport-security", ""))
    play(trial)
    limits(trial)
    data, copies = trial.folder / "data", trial.folder / "copies"
    copies.mkdir()
    trial.see("a copy while it runs", trial.hkoji("admin", "backup", copies, "--data", data)[0] == 0)
    trial.see("all logs in the database hold", trial.hkoji("admin", "check", "--data", data)[0] == 0)
    code, said = trial.hkoji("doctor", "--data", data, "--backups", copies)
    trial.see("doctor finds nothing that fails", code == 0)
    print("".join(f"        {line}\n" for line in said.splitlines()), end="")
    trial.see("the service stops with exit code 0", trial.stop(service) == 0)
    again = trial.start(HKOJI, "serve", "--config", trial.folder / "service.toml")
    trial.see("an upgrade: it serves again after a restart", trial.until(lambda: trial.ask("/readyz")[0] == 200))
    trial.stop(again)
    (copy,) = copies.iterdir()
    code, said = trial.hkoji("admin", "restore", copy, "--data", data)
    trial.see("a restore refuses to overwrite a database", code == 1 and "exists already" in said)
    data.rename(trial.folder / "broken")
    code, said = trial.hkoji("admin", "restore", copy, "--data", data)
    trial.see("restored, with a warning about forks", code == 0 and "fork" in said)
    trial.start(HKOJI, "serve", "--config", trial.folder / "service.toml")
    trial.see("the restored one serves", trial.until(lambda: trial.ask("/readyz")[0] == 200))
    code, said = trial.hkoji("next", home="alice")
    trial.see("players go on with it", code == 0)


def play(trial: Trial) -> None:
    """Two players begin a game through the proxy."""
    for name in ("alice", "bob"):
        trial.hkoji("init", name, home=name)
        code, said = trial.hkoji("register", "--server", trial.url, home=name)
        trial.see(f"{name} registers", code == 0)
    code, said = trial.hkoji("new", "--json", home="alice")
    game = json.loads(said.splitlines()[0]).get("game", "") if code == 0 else ""
    trial.see("a game is opened, joined and begun", game and trial.hkoji("join", game[:8], home="bob")[0] == 0)
    trial.see("the board is shown", trial.hkoji("show", game[:8], home="alice")[0] == 0)
    status, _, said = trial.ask(f"/v1/games/{game}/events?wait=1")
    trial.see("events pass the proxy", status == 200 and "data:" in said)
    places = 2 * processors()
    with ThreadPoolExecutor(places + 9) as pool:
        path = f"/v1/games/{game}/events?wait=5"
        waited = [each[0] for each in pool.map(lambda _: trial.ask(path), range(places + 9))]
    trial.see("one address waits only in its share of the places", {*waited} == {200, 429})
    trial.see("no more than the share of each worker", waited.count(200) <= places)
    code, said = trial.hkoji("doctor", home="alice")
    trial.see("a player's doctor finds nothing that fails", code == 0)


def limits(trial: Trial) -> None:
    """Limits apply to the real client address, whatever a client claims; metrics are not on the players' address."""
    trial.see("players cannot reach the metrics", trial.ask("/metrics")[0] == 404)
    with urllib.request.urlopen(f"http://127.0.0.1:{trial.ports['metrics']}/metrics", timeout=30) as answer:
        trial.see("Prometheus does", b"hkoji_requests_total" in answer.read())
    found = [trial.ask("/v1/service", **{"X-Forwarded-For": f"203.0.113.{n % 250}"})[0] for n in range(400)]
    trial.see(
        "the limit of requests a minute holds, though each claims another address", 429 in found and found[0] == 200
    )
    trial.see("requests succeed again after a wait", trial.until(lambda: trial.ask("/v1/service")[0] == 200))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--proxy", choices=("nginx", "caddy"), required=True)
    arguments = parser.parse_args()
    if not shutil.which(arguments.proxy):
        print(f"hosting: {arguments.proxy} is not installed", file=sys.stderr)
        sys.exit(2)
    folder = Path(tempfile.mkdtemp(prefix="hkoji-hosting-"))
    trial = Trial(folder, arguments.proxy)
    try:
        go(trial)
    finally:
        for process in trial.processes:
            if process.poll() is None:
                trial.stop(process)
        if trial.failed:
            print((folder / "log").read_text()[-4000:])
        shutil.rmtree(folder)
    print(f"hosting: {trial.failed or 'nothing'} failed, with {arguments.proxy}")
    sys.exit(1 if trial.failed else 0)


if __name__ == "__main__":
    main()
