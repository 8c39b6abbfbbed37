"""A small DER writer and reader: enough to make certificates byte by byte."""

import base64
import textwrap


def length_of(n):
    if n < 0x80:
        return bytes([n])
    body = n.to_bytes((n.bit_length() + 7) // 8, "big")
    return bytes([0x80 | len(body)]) + body


def tlv(tag, *parts):
    body = b"".join(parts)
    return bytes([tag]) + length_of(len(body)) + body


def seq(*parts):
    return tlv(0x30, *parts)


def explicit(n, *parts):
    return tlv(0xA0 | n, *parts)


def integer(n):
    return tlv(0x02, n.to_bytes(n.bit_length() // 8 + 1, "big", signed=True))


def boolean(value):
    return tlv(0x01, b"\xff" if value else b"\x00")


def octets(data):
    return tlv(0x04, data)


def bits(data, unused=0):
    return tlv(0x03, bytes([unused]) + data)


def oid(dotted):
    first, second, *rest = (int(p) for p in dotted.split("."))
    out = bytearray()
    for n in (first * 40 + second, *rest):
        group = [n & 0x7F]
        while n := n >> 7:
            group.append(0x80 | (n & 0x7F))
        out += bytes(reversed(group))
    return tlv(0x06, bytes(out))


def utc_time(text):
    """'20260601120000' as UTCTime before 2050, else GeneralizedTime."""
    if 1950 <= int(text[:4]) < 2050:
        return tlv(0x17, (text[2:] + "Z").encode())
    return tlv(0x18, (text + "Z").encode())


def pem(label, der):
    body = "\n".join(textwrap.wrap(base64.b64encode(der).decode(), 64))
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n"


def parse(data):
    """The elements of `data` as [tag, content] lists; constructed content is a list."""
    out, at = [], 0
    while at < len(data):
        tag, size, start = data[at], data[at + 1], at + 2
        if size & 0x80:
            more = size & 0x7F
            size = int.from_bytes(data[start : start + more], "big")
            start += more
        body = data[start : start + size]
        out.append([tag, parse(body) if tag & 0x20 else body])
        at = start + size
    return out


def write(elements):
    """The inverse of parse; an element may also be raw bytes."""
    out = b""
    for element in elements:
        if isinstance(element, bytes):
            out += element
        else:
            tag, content = element
            out += tlv(tag, content if isinstance(content, bytes) else write(content))
    return out
