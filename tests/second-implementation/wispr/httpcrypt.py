"""docs/spec/httpcrypt.md."""

import ipaddress
import re

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt
from nacl.exceptions import CryptoError

from . import Refused
from .crypto import sha256, verify_ed25519
from .encoding import from_base64url, lp
from .keys import padme


# HChaCha20, draft-irtf-cfrg-xchacha-03 section 2.2

def rotate(value, bits):
    return ((value << bits) | (value >> (32 - bits))) & 0xFFFFFFFF


def quarter(state, a, b, c, d):
    for first, second, third, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        state[first] = (state[first] + state[second]) & 0xFFFFFFFF
        state[third] = rotate(state[third] ^ state[first], bits)


def hchacha20(key, nonce):
    material = b"expand 32-byte k" + key + nonce
    state = [int.from_bytes(material[i : i + 4], "little") for i in range(0, 64, 4)]
    for _ in range(10):
        for column in range(4):
            quarter(state, column, column + 4, column + 8, column + 12)
        for diagonal in range(4):
            quarter(state, diagonal, (diagonal + 1) % 4 + 4, (diagonal + 2) % 4 + 8, (diagonal + 3) % 4 + 12)
    return b"".join(word.to_bytes(4, "little") for word in state[:4] + state[12:])


def exchange(seed, public_key):
    """None where the result is all zeros."""
    private = X25519PrivateKey.from_private_bytes(seed)
    try:
        return hchacha20(private.exchange(X25519PublicKey.from_public_bytes(public_key)), bytes(16))
    except ValueError:
        return None


def agree(seed, public_key):
    secret = exchange(seed, public_key)
    if secret is None:
        raise Refused("channel-key-refused")
    return secret


# Section 3

def key_id(public_key):
    return sha256(b"wispr/1 httpcrypt key id\n" + public_key)[:10]


def verify_record(record, url, channel_key, now):
    """Returns public key, key id and notAfter."""
    signed = lp(b"wispr/1 httpcrypt server key", url.encode("utf-8")) + record[:40]
    if len(record) != 104 or not verify_ed25519(record[40:], signed, channel_key):
        raise Refused("channel-key-refused")
    not_after = int.from_bytes(record[32:40], "big")
    if now > not_after:
        raise Refused("channel-key-refused")
    return record[:32], key_id(record[:32]), not_after


def read_addresses(texts):
    parts = {}
    for text in texts:
        try:
            packed = ipaddress.IPv6Address(text).packed
        except ValueError:
            raise Refused("channel-key-refused") from None
        if packed[0] != 0x2A or packed[1] > 7:
            raise Refused("channel-key-refused")
        parts[packed[1]] = packed[2:]
    whole = b"".join(parts[number] for number in sorted(parts))
    if len(texts) != 8 or len(parts) != 8 or any(whole[104:]):
        raise Refused("channel-key-refused")
    return whole[:104]


# Sections 4 and 5

def open_sealed(secret, data, body):
    """The message, or None."""
    if len(body) < 40:
        return None
    try:
        return crypto_aead_xchacha20poly1305_ietf_decrypt(body[24:], data, body[:24], secret)
    except CryptoError:
        return None


def parts_of(message, start, count):
    """The length-prefixed parts behind `start`, or None unless the padding is right."""
    parts = []
    for _ in range(count):
        end = start + 4 + int.from_bytes(message[start : start + 4], "big")
        if len(message) < start + 4 or len(message) < end:
            return None
        parts.append(message[start + 4 : end])
        start = end
    if len(message) != padme(-(-start // 1024) * 1024) or any(message[start:]):
        return None
    return parts


def read_cookie(text):
    """Key id and what is shown, or None."""
    pair = re.fullmatch(r"[A-Za-z0-9_-]+=([A-Za-z0-9_-]+)", text)
    value = from_base64url(pair[1]) if pair else None
    if value is None or not 42 <= len(value) <= 73:
        return None
    return value[:10], value[10:42]


def open_request(seed, tickets, cookie, body):
    """Returns target and content."""
    public_key = X25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    read = read_cookie(cookie)
    if read is None or read[0] != key_id(public_key) or len(body) > 32768:
        raise Refused("channel-unreadable")
    shown = read[1]
    secret = tickets[shown] if shown in tickets else exchange(seed, shown)
    message = secret and open_sealed(secret, b"wispr/1 httpcrypt request\n" + public_key + shown, body)
    parts = message and parts_of(message, 0, 2)
    try:
        return parts[0].decode("utf-8"), parts[1]
    except (TypeError, UnicodeDecodeError):
        raise Refused("channel-unreadable") from None


def open_answer(secret, request, body):
    """Returns status, content, ticket and the ticket's secret."""
    message = None
    if len(body) <= 300000:
        message = open_sealed(secret, b"wispr/1 httpcrypt answer\n" + sha256(request), body)
    parts = message and parts_of(message, 68, 1)
    if not parts:
        raise Refused("channel-unreadable")
    return int.from_bytes(message[64:68], "big"), parts[0], message[:32], message[32:64]
