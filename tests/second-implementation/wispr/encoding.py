"""Conventions of docs/spec/protected-object.md: base64url, lp, u32, canonical JSON."""

import base64
import json
import re

LARGEST_INTEGER = 2**53 - 1
SHORT_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def u32(value):
    return value.to_bytes(4, "big")


def u64(value):
    return value.to_bytes(8, "big")


def lp(*parts):
    return b"".join(u32(len(part)) + part for part in parts)


def to_base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def from_base64url(text, length=None):
    """The bytes that `text` spells, or None: one spelling is valid."""
    if not isinstance(text, str) or not re.fullmatch(r"[A-Za-z0-9_-]*", text) or len(text) % 4 == 1:
        return None
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if to_base64url(data) != text or (length is not None and len(data) != length):
        return None
    return data


class NotCanonical(Exception):
    pass


def canonical(value):
    """The canonical form, RFC 8785 with the specification's restrictions."""
    return serialise(value, 0).encode("utf-8")


def parse_canonical(data):
    """Returns (value, True), or (None, False) if the bytes are not the canonical form of a value."""
    try:
        value = json.loads(data.decode("utf-8"), parse_float=refuse, parse_constant=refuse)
        return (value, True) if canonical(value) == data else (None, False)
    except (ValueError, RecursionError, NotCanonical):
        return None, False


def refuse(text):
    raise NotCanonical(text)


def serialise(value, depth):
    if depth > 8:
        raise NotCanonical("nested too deeply")
    if type(value) is str:
        return serialise_string(value)
    if type(value) is int:
        if not 0 <= value <= LARGEST_INTEGER:
            raise NotCanonical("integer out of range")
        return str(value)
    if type(value) is list:
        return "[" + ",".join(serialise(item, depth + 1) for item in value) + "]"
    if type(value) is dict:
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(serialise_string(name) + ":" + serialise(value[name], depth + 1) for name in names) + "}"
    raise NotCanonical("no place for this type")


def serialise_string(text):
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise NotCanonical("lone surrogate")
    return '"' + "".join(map(escape, text)) + '"'


def escape(character):
    if character in SHORT_ESCAPES:
        return SHORT_ESCAPES[character]
    return f"\\u{ord(character):04x}" if character < " " else character


def has_members(value, required, optional=()):
    """Whether `value` is an object with exactly these members."""
    return (
        type(value) is dict and set(required) <= set(value) and set(value) <= set(required) | set(optional)
    )
