"""Compiled stores as files (docs/compiled-store.md), made wrong on purpose.

The checksum is computed by libxxhash, so that this is a second opinion on the
layout as well.
"""

import ctypes
import hashlib
import os
import struct

CHECKSUM, CHECKED_FROM = 24, 40
BELIEVED = 44
TABLE = 64
SECTIONS = ("path", "state", "records", "subjects", "raw-subjects", "issuers-and-serials", "key-ids",
            "canonical", "der")
HEADER = TABLE + 16 * len(SECTIONS)


def name_of(path):
    """The file name of the compiled store of a CAfile."""
    return hashlib.sha256(b"\x01" + os.fsencode(path)).hexdigest()[:32] + ".store"


def sections(content):
    """{name: (offset, length)}"""
    return {name: struct.unpack_from("<QQ", content, TABLE + 16 * n) for n, name in enumerate(SECTIONS)}


class _Digest(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


_xxhash = ctypes.CDLL("libxxhash.so.0")
_xxhash.XXH3_128bits.restype = _Digest
_xxhash.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def with_checksum(content):
    """The content with the checksum that belongs to it."""
    checked = bytes(content[CHECKED_FROM:])
    digest = _xxhash.XXH3_128bits(checked, len(checked))
    return bytes(content[:CHECKSUM]) + struct.pack("<QQ", digest.low, digest.high) + checked


def identity(path):
    """As the state section holds it: device, inode, size, mtime, ctime."""
    stat = os.stat(path)
    packed = struct.pack("<QQQ", stat.st_dev, stat.st_ino, stat.st_size)
    for ns in (stat.st_mtime_ns, stat.st_ctime_ns):
        packed += struct.pack("<qI", *divmod(ns, 1_000_000_000))
    return packed


def claiming(content, source):
    """The same certificates, said to be those of `source` as it is now: a lie that nothing in the file gives away."""
    offset, length = sections(content)["state"]
    lie, now = bytearray(content), identity(source)
    assert len(now) + 32 == length, "not the compiled store of a CAfile"
    lie[offset:offset + len(now)] = now
    struct.pack_into("<B", lie, BELIEVED, 1)
    return with_checksum(lie)
