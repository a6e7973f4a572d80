"""docs/spec/httpcrypt.md."""

import ipaddress
import re

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt
from nacl.exceptions import CryptoError

from . import Refused
from .binary_http import NotBinaryHttp, read_message
from .crypto import sha256, verify_ed25519
from .encoding import from_base64url, lp


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


# Section 3: the forms of a record

RECORD = 104


def read_text(text):
    record = from_base64url(text, RECORD)
    if record is None:
        raise Refused("channel-key-refused")
    return record


def read_options(body):
    text, line_feed, meaningless = body.partition("\n")
    if line_feed == "" or len(meaningless) > 255:
        raise Refused("channel-key-refused")
    return read_text(text)


def read_tlsa(data):
    """The data of the DNS record: usage, selector and matching type, then the record."""
    if data[:3] != bytes([3, 1, 0]) or len(data) != 3 + RECORD:
        raise Refused("channel-key-refused")
    return data[3:]


def read_addresses(texts):
    """AAAA or A, in any order."""
    try:
        addresses = [ipaddress.ip_address(text).packed for text in texts]
    except ValueError:
        raise Refused("channel-key-refused") from None
    six = [bytes([0x2A, number]) for number in range(8)]
    four = [bytes([64 + number]) for number in range(35)]
    for beginnings, length in ((six, 16), (four, 4)):
        size = len(beginnings[0])
        parts = {address[:size]: address[size:] for address in addresses if len(address) == length}
        if len(addresses) == len(parts) and set(parts) == set(beginnings):
            whole = b"".join(parts[beginning] for beginning in beginnings)
            if not any(whole[RECORD:]):
                return whole[:RECORD]
    raise Refused("channel-key-refused")


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


# Section 5

CHUNK = 16384
TAG = 16


def open_sealed(secret, aad, body):
    """The message, or None."""
    salt, rest = body[:16], body[16:]
    message = b""
    chunks = [rest[start : start + CHUNK] for start in range(0, len(rest), CHUNK)]
    if len(salt) != 16 or not chunks:
        return None
    for number, chunk in enumerate(chunks):
        nonce = salt + number.to_bytes(7, "big") + bytes([number == len(chunks) - 1])
        data = open_chunk(secret, nonce, aad, chunk)
        if data is None:
            return None
        message += data
    return message


def open_chunk(secret, nonce, aad, chunk):
    """u16(length) || data || zeros; the data, or None."""
    try:
        plain = crypto_aead_xchacha20poly1305_ietf_decrypt(chunk, aad, nonce, secret)
    except CryptoError:
        return None
    end = 2 + int.from_bytes(plain[:2], "big")
    if len(plain) < 2 or len(plain) < end or any(plain[end:]):
        return None
    return plain[2:end]


# Sections 4 and 6

LONGEST_SECTION = 65536


def read_cookie(text):
    """Key id and what is shown, or None."""
    pair = re.fullmatch(r"[A-Za-z0-9_.-]+=([A-Za-z0-9_-]+)", text)
    value = from_base64url(pair[1]) if pair else None
    if value is None or not 42 <= len(value) <= 73:
        return None
    return value[:10], value[10:42]


def open_message(secret, aad, body, skipped, is_answer):
    """The Binary HTTP message, and the bytes in front of it."""
    message = open_sealed(secret, aad, body)
    if message is None or len(message) < skipped:
        raise Refused("channel-unreadable")
    try:
        read = read_message(message[skipped:], is_answer)
    except NotBinaryHttp:
        raise Refused("channel-unreadable") from None
    if max(read.pop("head"), read.pop("trailers")) > LONGEST_SECTION:
        raise Refused("channel-unreadable")
    return message[:skipped], read


def open_request(seed, tickets, cookie, body):
    """The request inside, and the salt that its answer is bound to."""
    public_key = X25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    read = read_cookie(cookie)
    if read is None or read[0] != key_id(public_key):
        raise Refused("channel-unreadable")
    shown = read[1]
    secret = tickets.pop(shown) if shown in tickets else exchange(seed, shown)
    if secret is None:
        raise Refused("channel-unreadable")
    return open_message(secret, b"wispr/2 httpcrypt request\n" + public_key + shown, body, 0, False)[1]


def open_answer(public_key, shown, secret, salt, body):
    """The answer inside, the ticket and the ticket's secret."""
    aad = b"wispr/2 httpcrypt answer\n" + public_key + shown + salt
    brought, answer = open_message(secret, aad, body, 64, True)
    return answer, brought[:32], brought[32:]
