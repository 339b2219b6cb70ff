"""The page makes the entropy of a key as the vectors say, and so as the command does."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Final

from tests.support.browsers import needs_browser

ROOT: Final = Path(__file__).parents[2]
SCRIPT: Final = """
import { webcrypto } from 'node:crypto';
globalThis.crypto ??= webcrypto;
const { entropyOf } = await import(process.argv[2]);
for (const { der, game, head } of JSON.parse(process.argv[3])) {
  const key = await crypto.subtle.importKey('pkcs8', Buffer.from(der, 'hex'), 'Ed25519', false, ['sign']);
  console.log(await entropyOf({ key, raw: new Uint8Array(32), text: '' }, game, head));
}
"""
_PKCS8: Final = "302e020100300506032b657004220420"


def test_entropy_of_a_key_is_that_of_the_vectors(tmp_path: Path) -> None:
    node = needs_browser("node")
    vectors = json.loads((ROOT / "tests/data/vectors/commitments.json").read_text())["key_entropy"]
    assert len({vector["entropy"] for vector in vectors}) == 4
    script = tmp_path / "entropy.mjs"
    script.write_text(SCRIPT)
    write = (ROOT / "server/hkoji_server/web/static/log/write.js").as_uri()
    given = json.dumps([{"der": _PKCS8 + each["seed"], **each} for each in vectors])
    done = subprocess.run([node, script, write, given], capture_output=True, text=True, check=False)
    assert done.stdout.split() == [vector["entropy"] for vector in vectors], done.stderr
