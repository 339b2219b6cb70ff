"""Observes, and can prevent, SQLite's operations on files: a layer between SQLite and the system, in this process.

It works inside the library that Python's `sqlite3` uses: `xOpen` and `xDelete` of the default VFS, and the methods of
each opened file, are replaced by functions that call the originals. An `Observer` is called before and after each
operation. The index of the write-ahead log (`-shm`) is shared memory and does not pass here; it does not survive a
power cut either. apsw's VFS cannot replace this layer: it reaches only apsw's own copy of SQLite, which `sqlite3` does
not use, and it does not pass on the mapping of shared memory.

https://www.sqlite.org/vfs.html; the structures are those of sqlite3.h.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from typing import Any, Final, NamedTuple, Protocol

BUSY: Final = 5
IOERR: Final = 10
FULL: Final = 13
CANTOPEN: Final = 14


class Call(NamedTuple):
    """An operation of SQLite: what it does, to which file (its name without folder), at which offset, and the bytes
    written."""

    what: str
    """open, close, read, write, truncate, sync, size, lock, map (of shared memory), delete, or folder (its sync)."""
    name: str
    offset: int = 0
    """For truncate: the new size."""
    data: bytes = b""


class Observer(Protocol):
    """An observer of operations."""

    def before(self, call: Call) -> int:
        """Returns 0 to let it happen, or the SQLite error code that it fails with."""

    def after(self, call: Call) -> None:
        """Called after the operation."""


_OPEN: Final = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, POINTER(c_int))
_DELETE: Final = CFUNCTYPE(c_int, c_void_p, c_char_p, c_int)
_ONE: Final = CFUNCTYPE(c_int, c_void_p)
_MOVE: Final = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_TRUNCATE: Final = CFUNCTYPE(c_int, c_void_p, c_int64)
_FLAGS: Final = CFUNCTYPE(c_int, c_void_p, c_int)
_SIZE: Final = CFUNCTYPE(c_int, c_void_p, c_void_p)
_MAP: Final = CFUNCTYPE(c_int, c_void_p, c_int, c_int, c_int, c_void_p)
_FOLDER: Final = CFUNCTYPE(c_int, c_char_p, c_void_p)
_SET_CALL: Final = CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p)
_GET_CALL: Final = CFUNCTYPE(c_void_p, c_void_p, c_char_p)

_METHODS: Final = (
    *("close", "read", "write", "truncate", "sync", "size", "lock", "unlock", "reserved", "control", "sector"),
    *("device", "map", "shmlock", "barrier", "unmap", "fetch", "unfetch"),
)
_KINDS: Final[dict[str, Any]] = {  # Any: ctypes' function types
    "close": _ONE,
    "read": _MOVE,
    "write": _MOVE,
    "truncate": _TRUNCATE,
    "sync": _FLAGS,
    "size": _SIZE,
    "lock": _FLAGS,
    "map": _MAP,
}


class _Methods(Structure):
    _fields_ = [("version", c_int), *((name, c_void_p) for name in _METHODS)]


class _Vfs(Structure):
    _fields_ = [
        ("version", c_int),
        ("size", c_int),
        ("longest", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", c_void_p),
        ("delete", c_void_p),
        *((name, c_void_p) for name in ("access", "path", "dlopen", "dlerror", "dlsym", "dlclose")),
        *((name, c_void_p) for name in ("random", "sleep", "time", "error", "time64")),
        ("set_call", c_void_p),
        ("get_call", c_void_p),
    ]


class _Layer:
    """The layer. There is one, and it stays for files that are still open."""

    def __init__(self) -> None:
        import _sqlite3

        library = ctypes.CDLL(_sqlite3.__file__)  # finds the library that the module is linked with
        library.sqlite3_vfs_find.restype = POINTER(_Vfs)
        self._vfs = library.sqlite3_vfs_find(None).contents
        self._open = _OPEN(self._vfs.open)
        self._delete = _DELETE(self._vfs.delete)
        self._tables: dict[int, _Methods] = {}
        self._kept: list[Any] = []  # Any: ctypes' functions, which SQLite holds by address only
        self._names: dict[int, str] = {}
        self.observer: Observer | None = None
        self._addresses = {
            "open": self._keep(_OPEN(self._opened)),
            "delete": self._keep(_DELETE(self._deleted)),
        }
        get = _GET_CALL(self._vfs.get_call)
        address = ctypes.addressof(self._vfs)
        self._old = {"open": self._vfs.open, "delete": self._vfs.delete, "folder": get(address, b"openDirectory")}
        self._folder = _FOLDER(self._old["folder"])
        self._addresses["folder"] = self._keep(_FOLDER(self._synced))

    def set(self, *, active: bool) -> None:
        """Installs the layer for files opened from now on, or removes it."""
        addresses = self._addresses if active else self._old
        self._vfs.open, self._vfs.delete = addresses["open"], addresses["delete"]
        _SET_CALL(self._vfs.set_call)(ctypes.addressof(self._vfs), b"openDirectory", addresses["folder"])

    def _keep(self, function: Any) -> int:  # Any: a ctypes function
        self._kept.append(function)
        return int(ctypes.cast(function, c_void_p).value or 0)

    def _watched(self, call: Call, happen: Callable[[], int]) -> int:
        observer = self.observer
        if observer is None:
            return happen()
        if code := observer.before(call):
            return code
        if not (code := happen()):
            observer.after(call)
        return code

    def _opened(self, vfs: int, name: int | None, file: int, flags: int, out: Any) -> int:  # Any: a pointer
        shown = os.path.basename(ctypes.string_at(name).decode()) if name else ""
        code = self._watched(Call("open", shown), lambda: int(self._open(vfs, name, file, flags, out)))
        place = c_void_p.from_address(file)
        if code:
            place.value = None  # nothing is open, so nothing has to be closed
        elif shown and place.value:
            self._names[file] = shown
            table = self._tables.get(place.value) or self._wrap(place.value)
            place.value = ctypes.addressof(table)
        return code

    def _deleted(self, vfs: int, name: bytes, synced: int) -> int:
        call = Call("delete", os.path.basename(name.decode()))
        return self._watched(call, lambda: int(self._delete(vfs, name, synced)))

    def _synced(self, name: bytes, out: int) -> int:
        """Handles the opening of a folder, which SQLite opens only to sync it at once."""
        call = Call("folder", "")
        if self.observer is not None:
            self.observer.before(call)
        code = int(self._folder(name, out))
        if self.observer is not None:
            self.observer.after(call)
        return code

    def _wrap(self, address: int) -> _Methods:
        old = _Methods.from_address(address)
        new = _Methods.from_buffer_copy(old)
        for name, kind in _KINDS.items():
            if getattr(old, name):
                setattr(new, name, self._keep(kind(self._method(name, kind(getattr(old, name))))))
        self._tables[address] = new
        self._kept.append(new)
        return new

    def _method(self, what: str, old: Any) -> Callable[..., int]:  # Any: a ctypes function
        def method(file: int, *given: Any) -> int:  # Any: the method's own arguments
            if self.observer is None:
                return int(old(file, *given))
            name = self._names.get(file, "")
            if what == "write":
                call = Call(what, name, given[2], ctypes.string_at(given[0], given[1]))
            elif what == "read":
                call = Call(what, name, given[2])
            elif what == "truncate":
                call = Call(what, name, given[0])
            else:
                call = Call(what, name)
            return self._watched(call, lambda: int(old(file, *given)))

        return method


_layer: _Layer | None = None


@contextmanager
def watched(observer: Observer) -> Iterator[None]:
    """Lets `observer` see SQLite's operations on files opened in this block."""
    global _layer  # noqa: PLW0603 # one library, one layer
    _layer = _layer or _Layer()
    _layer.observer = observer
    _layer.set(active=True)
    try:
        yield
    finally:
        _layer.set(active=False)
        _layer.observer = None
