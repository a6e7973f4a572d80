"""docs/spec/link.md, sections 3 to 5: both relays, on the records of one direction."""

from . import Refused
from .crypto import sha256

HANDSHAKE, TLS12, LONGEST_RECORD = 22, 0x0303, 16_384
CLIENT_HELLO, SERVER_HELLO, CERTIFICATE, SUPPLEMENTAL_DATA, COMPRESSED = 1, 2, 11, 23, 0x99
SUPPORTED_VERSIONS, LIST = 43, 0x0099


class Cut(Exception):
    """The bytes end before what should be there."""


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, length):
        if self.at + length > len(self.data):
            raise Cut
        self.at += length
        return self.data[self.at - length : self.at]

    def number(self, length):
        return int.from_bytes(self.take(length), "big")

    def vector(self, length):
        return self.take(self.number(length))

    @property
    def more(self):
        return self.at < len(self.data)


def u(value, length):
    return value.to_bytes(length, "big")


def vector(length, data):
    return u(len(data), length) + data


def record(content, version=TLS12):
    return u(HANDSHAKE, 1) + u(version, 2) + vector(2, content)


def entry_of(certificate):
    return sha256(certificate)[:8]


def reference_of(certificate):
    return sha256(certificate)[:16]


def records_of(data):
    """(type, version, content) of each record."""
    reader = Reader(data)
    while reader.more:
        yield reader.number(1), reader.number(2), reader.vector(2)


def extensions_of(data):
    reader = Reader(data)
    while reader.more:
        yield reader.number(2), reader.vector(2)


# Section 4

def read_client_hello(data):
    """Version of the record, the message up to its extensions, and the extensions; or None."""
    try:
        [(kind, version, content)] = records_of(data)
        message = Reader(content)
        if kind != HANDSHAKE or message.number(1) != CLIENT_HELLO:
            return None
        body = Reader(message.vector(3))
        body.take(34), body.vector(1), body.vector(2), body.vector(1)
        front, extensions = body.data[: body.at], list(extensions_of(body.vector(2)))
        return None if message.more or body.more else (version, front, extensions)
    except (Cut, ValueError):
        return None


def write_client_hello(version, front, extensions):
    data = b"".join(u(kind, 2) + vector(2, value) for kind, value in extensions)
    return record(u(CLIENT_HELLO, 1) + vector(3, front + vector(2, data)), version)


def list_certificates(data, chain, client_hashes):
    """Near: what crosses in the place of the client's first record."""
    hello = read_client_hello(data)
    if hello is None:
        return data
    version, front, extensions = hello
    own = extensions[:1] and extensions[0][0] == LIST
    if not (chain or client_hashes or own):
        return data
    entries = [entry_of(certificate) for certificate in chain], [digest[:8] for digest in client_hashes[:8]]
    inserted = b"".join(u(len(each), 1) + b"".join(each) for each in entries)
    written = write_client_hello(version, front, [(LIST, inserted), *extensions])
    if len(written) <= LONGEST_RECORD + 5:
        return written
    if own:
        raise Refused("refused")
    return data


def take_list(data):
    """Far: the record as it goes to the server, and the two lists of entries; None without a list."""
    hello = read_client_hello(data)
    if hello is None or not hello[2] or hello[2][0][0] != LIST:
        return data, None
    version, front, [(_, value), *others] = hello
    reader = Reader(value)
    try:
        lists = [[reader.take(8) for _ in range(reader.number(1))] for _ in range(2)]
    except Cut:
        raise Refused("refused") from None
    if reader.more:
        raise Refused("refused")
    return write_client_hello(version, front, others), lists


# Section 3

def is_tls12(server_hello):
    reader = Reader(server_hello)
    version = reader.number(2)
    reader.take(32), reader.vector(1), reader.take(3)
    extensions = list(extensions_of(reader.vector(2))) if reader.more else []
    return version == TLS12 and not reader.more and all(kind != SUPPORTED_VERSIONS for kind, _ in extensions)


def read_group(data):
    """(record lengths, what is in front, type and body of the message, what is behind, all that follows); None: it passes unchanged."""
    lengths, contents, reader = [], b"", Reader(data)
    while reader.more:
        kind, version, content = reader.number(1), reader.number(2), reader.vector(2)
        if kind != HANDSHAKE or version != TLS12:
            return None
        lengths.append(len(content))
        contents += content
        if len(contents) > 65_536 or len(lengths) > 64:
            return None
        try:
            messages, seen = Reader(contents), 0
            while True:
                start = messages.at
                message, body = messages.number(1), messages.vector(3)
                if seen and message in (CERTIFICATE, COMPRESSED):
                    return lengths, contents[:start], message, body, contents[messages.at :], data[reader.at :]
                if message != (SUPPLEMENTAL_DATA if seen else SERVER_HELLO) or (not seen and not is_tls12(body)):
                    return None
                seen += 1
        except Cut:
            continue
    return None


def chain_of(body):
    """None where it may not be substituted."""
    try:
        message = Reader(body)
        reader, chain = Reader(message.vector(3)), []
        while reader.more:
            chain.append(reader.vector(3))
    except Cut:
        return None
    fits = 1 <= len(chain) <= 16 and all(len(each) < 16_384 for each in chain)
    return chain if fits and not message.more else None


# Section 5

def substitute(data, lists, held):
    """Far: what crosses in the place of the server's records."""
    group = read_group(data)
    if group is None:
        return data
    lengths, front, message, body, behind, rest = group
    if message == COMPRESSED:
        raise Refused("refused")
    chain = chain_of(body)
    if chain is None or lists is None:
        return data
    known = {entry_of(certificate) for certificate in held}
    bits = sum(1 << index for index, entry in enumerate(lists[1][:8]) if entry in known)
    if not bits and not any(entry_of(certificate) in lists[0] for certificate in chain):
        return data
    entries = [
        b"\0" + reference_of(each) if entry_of(each) in lists[0] else b"\1" + vector(3, each) for each in chain
    ]
    cuts = b"".join(u(length, 2) for length in lengths[:-1])
    content = front + u(COMPRESSED, 1) + vector(3, u(bits, 1) + u(len(lengths) - 1, 1) + cuts + b"".join(entries))
    content += behind
    return data if len(content) > LONGEST_RECORD else record(content) + rest


def restore(data, chain):
    """Near: what the client gets in the place of what crossed."""
    group = read_group(data)
    if group is None or group[2] == CERTIFICATE:
        return data
    _, front, _, body, behind, rest = group
    listed = {reference_of(certificate): certificate for certificate in chain}
    reader, entries = Reader(body), []
    try:
        reader.number(1)
        lengths = [reader.number(2) for _ in range(reader.number(1))]
        while reader.more:
            kind = reader.number(1)
            if kind > 1:
                raise Refused("refused")  # L1
            entries.append(reader.vector(3) if kind else listed[reader.take(16)])  # L2
    except (Cut, KeyError):
        raise Refused("refused") from None
    if not 1 <= len(entries) <= 16 or any(len(entry) >= 16_384 for entry in entries):  # L1, L3
        raise Refused("refused")
    certificates = vector(3, b"".join(vector(3, entry) for entry in entries))
    content = front + u(CERTIFICATE, 1) + vector(3, certificates) + behind
    lengths.append(len(content) - sum(lengths))
    if any(not 1 <= length <= LONGEST_RECORD for length in lengths):  # L4
        raise Refused("refused")
    reader = Reader(content)
    return b"".join(record(reader.take(length)) for length in lengths) + rest
