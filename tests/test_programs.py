"""Programs for tests are fetched from Debian's packages if they are not here; CI runs what contributors run."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import programs

ROOT = Path(__file__).parents[1]


def test_ci_runs_what_contributors_run() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    commands = [line for line in lines if not line.startswith("#")]
    assert commands == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', "exec scripts/check"]


class Archive:
    """An archive of Debian packages on this machine, and an apt that knows no other one and has no lists yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for made in ("lists", "packages"):
            (folder / made).mkdir()
        (folder / "packages" / "Packages").write_text("")
        (folder / "sources.list").write_text(f"deb [trusted=yes] file:{folder}/packages ./\n")
        settings = {
            "Dir::Etc::sourcelist": folder / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::State::lists": folder / "lists",
        }
        (folder / "apt.conf").write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))

    def add(self, name: str, file: str, text: str) -> None:
        """Adds a package with one file."""
        files = self.folder / name
        (files / "DEBIAN").mkdir(parents=True)
        about = f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: for a test\n"
        (files / "DEBIAN" / "control").write_text(about)
        (files / file).parent.mkdir(parents=True)
        (files / file).write_text(text)
        (files / file).chmod(0o755)
        packed = self.folder / "packages" / f"{name}.deb"
        subprocess.run(["dpkg-deb", "--build", str(files), str(packed)], capture_output=True, check=True)
        read = packed.read_bytes()
        digest = hashlib.sha256(read).hexdigest()
        with (self.folder / "packages" / "Packages").open("a") as stream:
            stream.write(f"{about}Filename: ./{name}.deb\nSize: {len(read)}\nSHA256: {digest}\n\n")


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        pytest.skip("apt-get and dpkg-deb are not here")
    made = Archive(tmp_path)
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    return made


def test_programs_are_fetched_once_and_found_under_their_names(archive: Archive, tmp_path: Path) -> None:
    archive.add("zsh-static", "bin/zsh-static", '#!/bin/sh\necho "${0##*/}" "$FPATH" "$@"\n')
    archive.add("zsh-common", "usr/share/zsh/functions/Completion/Unix/_hosts", "")
    archive.add("mandoc", "usr/bin/mandoc", "#!/bin/sh\nexit 1\n")
    kept = tmp_path / "kept"
    for _ in range(2):
        (start,) = programs.fetch(["zsh", "fish", "mandoc"], kept)  # no package has fish, and this mandoc does not run
        done = subprocess.run([start / "zsh", "x y"], capture_output=True, text=True, check=True)
        name, functions, said = done.stdout.rstrip().split(" ", 2)
        assert (name, said) == ("zsh", "x y")
        assert "_hosts" in {file.name for folder in functions.split(":") for file in Path(folder).iterdir()}
        assert {path.name for path in kept.iterdir()} == {"lock", "zsh"}
        shutil.rmtree(archive.folder / "packages", ignore_errors=True)


@pytest.mark.usefixtures("archive")
def test_no_archive_is_no_error(tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "packages")
    assert programs.fetch(["zsh", "mandoc"], tmp_path / "kept") == []
    (tmp_path / "file").write_text("")
    assert programs.fetch(["zsh"], tmp_path / "file" / "kept") == []
