"""Signs with a key in ssh-agent: the private key is never read here.

Source: draft-ietf-sshm-ssh-agent, SSH_AGENTC_SIGN_REQUEST. The agent signs the SSHSIG data, as for ssh-keygen.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from collections.abc import Callable
from typing import Final

from hkoji.errors import LoginError
from hkoji.log import sshsig
from hkoji.log.public_key import KEY_TYPE, PublicKey
from hkoji.messages.text import tell

_SIGN_REQUEST: Final = 13
_SIGN_RESPONSE: Final = 14
_MOST_BYTES: Final = 4096


_REMARK: Final = 5.0
"""The seconds without an answer after which the player is told; the agent may be asking for something elsewhere."""
_LONGEST: Final = 15.0
"""The seconds after which the agent is given up."""


class AgentSigner:
    """Signs with the agent's key `public`. Raises `LoginError` when there is no agent or it does not hold the key.

    `say` gets a remark if the agent does not answer at once.
    """

    def __init__(self, public: PublicKey, say: Callable[[str], None]) -> None:
        self.public: Final = public
        self._say = say

    def sign(self, namespace: str, message: bytes) -> bytes:
        """Returns the SSHSIG blob of `message` in `namespace`."""
        data = sshsig.signed_data(namespace, message)
        request = bytes([_SIGN_REQUEST]) + _string(self.public.blob) + _string(data) + struct.pack(">I", 0)
        answer = self._ask(request)
        inner = _string(KEY_TYPE.encode()) + struct.pack(">I", 64)
        head = bytes([_SIGN_RESPONSE]) + struct.pack(">I", len(inner) + 64) + inner
        if not answer.startswith(head) or len(answer) != len(head) + 64:
            raise LoginError(
                tell("ssh-agent does not sign with {fingerprint}", fingerprint=self.public.fingerprint),
                hint=tell("add the key with `ssh-add`"),
            )
        return sshsig.build(self.public, namespace, answer[len(head) :])

    def _ask(self, request: bytes) -> bytes:
        path = os.environ.get("SSH_AUTH_SOCK")
        if not path:
            raise LoginError(
                tell("the key is in ssh-agent, but no agent runs here"), hint=tell("start one: `eval $(ssh-agent)`")
            )
        try:
            with socket.socket(socket.AF_UNIX) as agent:
                agent.settimeout(_LONGEST)
                agent.connect(path)
                agent.sendall(_string(request))
                end = time.monotonic() + _LONGEST
                if not select.select([agent], [], [], _REMARK)[0]:
                    self._say(tell("ssh-agent does not answer; perhaps it asks you for something in another window"))
                (length,) = struct.unpack(">I", _receive(agent, 4, end))
                if length > _MOST_BYTES:
                    raise LoginError(tell("the answer of ssh-agent is too long"))
                return _receive(agent, length, end)
        except TimeoutError as error:
            raise LoginError(
                tell("ssh-agent has not answered for {seconds} seconds", seconds=int(_LONGEST)),
                hint=tell(
                    "nothing was sent; does `ssh-add -l` answer? If not, start another agent: `eval $(ssh-agent)`"
                ),
            ) from error
        except OSError as error:
            raise LoginError(
                tell("ssh-agent does not answer: {reason}", reason=error.strerror or error), hint=tell("is it running?")
            ) from error


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _receive(agent: socket.socket, count: int, end: float) -> bytes:
    """Returns so many bytes, which must come before the moment `end`. Raises `TimeoutError`."""
    data = b""
    while len(data) < count:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        agent.settimeout(left)
        part = agent.recv(count - len(data))
        if not part:
            raise LoginError(tell("ssh-agent closed the connection"))
        data += part
    return data
