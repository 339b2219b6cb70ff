"""The DNS of the laboratory: a small server whose answers are set by the program."""

from __future__ import annotations

import socketserver
import threading
from typing import Final

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset

PORT: Final = 53
_TTL: Final = 5


class NameServer:
    """Answers from `records`: texts of records by lower-case name (without a final dot) and type.

    A name does not exist if neither it nor a name below it has a record. Names in `silent` get no answer at all.
    """

    def __init__(self, address: str = "127.0.0.1", port: int = PORT) -> None:
        self.records: dict[tuple[str, str], list[str]] = {}
        self.silent: set[str] = set()
        self.asked: list[tuple[str, str]] = []
        outer = self

        class OneQuestion(socketserver.DatagramRequestHandler):
            """One datagram."""

            def handle(self) -> None:
                if (said := outer.answer(self.rfile.read())) is not None:
                    self.wfile.write(said)

        self._server = socketserver.ThreadingUDPServer((address, port), OneQuestion)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def add(self, name: str, kind: str, *texts: str) -> None:
        """Sets the records of a name and type."""
        self.records[name.lower(), kind] = list(texts)

    def answer(self, datagram: bytes) -> bytes | None:
        """The answer to a question, in DNS's wire format."""
        question = dns.message.from_wire(datagram)
        name = question.question[0].name.to_text(omit_final_dot=True).lower()
        kind = dns.rdatatype.to_text(question.question[0].rdtype)
        self.asked.append((name, kind))
        if name in self.silent:
            return None
        answer = dns.message.make_response(question)
        answer.flags |= dns.flags.AA | dns.flags.RA
        if texts := self.records.get((name, kind)):
            where = dns.name.from_text(name)
            answer.answer.append(dns.rrset.from_text(where, _TTL, dns.rdataclass.IN, kind, *texts))
        elif not any(f".{known}".endswith(f".{name}") for known, _ in self.records):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        return answer.to_wire(max_size=4096)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def text_record(value: str) -> str:
    """The text of a TXT record with this value: pieces of at most 255 characters."""
    return " ".join(f'"{value[at : at + 255]}"' for at in range(0, len(value), 255))
