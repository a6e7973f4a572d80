"""docs/spec/protected-object.md, "Verification": the steps, in their order."""

import base64
import re

from cryptography.cobblestone import Cobblestone256Decryptor
from cryptography.exceptions import InvalidTag

from . import Refused
from .crypto import commitment, key_id, sha256, verify_ed25519
from .encoding import from_base64url, has_members, lp, parse_canonical, to_base64url
from .names import is_document_path, is_site

CHUNK = 16_384
SEALED_CHUNK = CHUNK + 16
PREFIX = 56
COMMON = ("blockChunks", "digestListDigest", "path", "payloadLength", "publisher", "site")
SIGNED_HEADERS = (
    "cache-control",
    "content-disposition",
    "content-language",
    "content-security-policy",
    "cross-origin-embedder-policy",
    "cross-origin-opener-policy",
    "link",
    "permissions-policy",
    "referrer-policy",
    "x-robots-tag",
)
MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?: ?; ?[!-~](?:[ -~]*[!-~])?)?")
HEADER_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?")
VALUES = {
    "cache-control": re.compile(r"max-age=(?:0|[1-9][0-9]{0,8})(?:, immutable)?"),
    "cross-origin-embedder-policy": re.compile(r"require-corp|credentialless"),
    "cross-origin-opener-policy": re.compile(r"same-origin(?:-allow-popups)?"),
}


class Source:
    """Bytes from a content host, read from their start."""

    def __init__(self, data):
        self.data = data
        self.offset = 0

    def take(self, length, code="object-truncated"):
        piece = self.data[self.offset : self.offset + length]
        if len(piece) < length:
            raise Refused(code)
        self.offset += length
        return piece

    def at_end(self):
        return self.offset == len(self.data)


def open_carrier(data):
    """The object out of the HTML carrier, or the data as it is."""
    opening = b"<!-- wispr/1\n"
    if not data.startswith(opening):
        return data
    lines = []
    offset = len(opening)
    while not data.startswith(b"-->\n", offset):
        end = data.find(b"\n", offset)
        if end < 0:
            raise Refused("object-unrecognised")
        lines.append(data[offset:end])
        offset = end + 1
    text = b"".join(lines)
    try:
        decoded = base64.b64decode(text, validate=True)
    except ValueError:
        raise Refused("object-unrecognised") from None
    spelled = base64.b64encode(decoded)
    if [spelled[start : start + 76] for start in range(0, len(spelled), 76)] != lines:
        raise Refused("object-unrecognised")
    return decoded


class Header:
    """Steps 3 and 4."""

    def __init__(self, data):
        value, good = parse_canonical(data)
        if not good:
            raise Refused("header-invalid")
        self.value = value
        self.encrypted = has_members(value, (*COMMON, "set"))
        if not self.encrypted and not has_members(value, (*COMMON, "metadata")):
            raise Refused("header-invalid")
        self.length = value["payloadLength"]
        self.block_chunks = value["blockChunks"]
        if not self.has_valid_members() or not self.has_possible_shape():
            raise Refused("header-invalid")

    def has_valid_members(self):
        value = self.value
        ids = [value["publisher"], value["digestListDigest"]] + ([value["set"]] if self.encrypted else [])
        if not all(from_base64url(each, 32) for each in ids):
            return False
        if not is_site(value["site"]) or not is_document_path(value["path"]):
            return False
        if self.encrypted:
            return True
        metadata = value["metadata"]
        return (
            is_metadata(metadata) and "contentCoding" not in metadata and metadata["contentLength"] == value["payloadLength"]
        )

    def has_possible_shape(self):
        if type(self.length) is not int or type(self.block_chunks) is not int or not 1 <= self.block_chunks <= 1024:
            return False
        if self.encrypted and (self.length < PREFIX + 16 or (self.length - PREFIX) % SEALED_CHUNK < 16):
            return False
        return self.blocks <= 65_536

    @property
    def prefix(self):
        return PREFIX if self.encrypted else 0

    @property
    def block_length(self):
        return self.block_chunks * (SEALED_CHUNK if self.encrypted else CHUNK)

    @property
    def blocks(self):
        return max(1, -(-(self.length - self.prefix) // self.block_length))

    def length_of_block(self, index):
        start = 0 if index == 0 else self.prefix + index * self.block_length
        return min(self.length, self.prefix + (index + 1) * self.block_length) - start

    @property
    def message_length(self):
        sealed = self.length - PREFIX
        return sealed - 16 * (sealed // SEALED_CHUNK + 1)


def is_metadata(value):
    if not has_members(value, ("contentLength", "mediaType"), ("contentCoding", "headers", "lastModified")):
        return False
    headers = value.get("headers", {})
    return (
        type(value["contentLength"]) is int
        and type(value["mediaType"]) is str
        and len(value["mediaType"]) <= 255
        and MEDIA_TYPE.fullmatch(value["mediaType"]) is not None
        and value.get("contentCoding", "br") in ("br", "gzip")
        and type(value.get("lastModified", 0)) is int
        and has_members(headers, (), SIGNED_HEADERS)
        and all(type(text) is str and len(text) <= 4096 and HEADER_VALUE.fullmatch(text) for text in headers.values())
        and all(form.fullmatch(headers[name]) for name, form in VALUES.items() if name in headers)
    )


def read_head(source, reader):
    """Steps 1 to 9 for an object that no bin names; returns the header and the block digests."""
    magic = source.take(8, "object-unrecognised")
    if magic != b"wispr/1\n":
        raise Refused("object-version" if re.fullmatch(rb"wispr/[0-9][0-9\n]", magic) else "object-unrecognised")
    length = int.from_bytes(source.take(4), "big")
    if not 2 <= length <= 65_536:
        raise Refused("header-invalid")
    header_bytes = source.take(length)
    header = Header(header_bytes)
    signature = source.take(64)
    if header.value["publisher"] != key_id("publisher", reader["publisherKey"]):
        raise Refused("publisher-unexpected")
    if not verify_ed25519(signature, b"wispr/1 protected object\n" + header_bytes, reader["publisherKey"]):
        raise Refused("signature-invalid")
    digests = source.take(32 * header.blocks)
    if to_base64url(sha256(digests)) != header.value["digestListDigest"]:
        raise Refused("block-digest")
    if header.value["site"] != reader["site"]:
        raise Refused("site-mismatch")
    if header.value["path"] != reader["path"]:
        raise Refused("path-mismatch")
    return header, digests


def find_key(header, reader):
    """Step 10."""
    wanted = header.value["set"]
    found = next((key for key in reader["keys"] if key["id"] == wanted), None)
    if found is None:
        raise Refused("key-missing")
    if not found["notBefore"] <= reader["now"] <= found["notAfter"]:
        raise Refused("key-not-valid-now")
    if key_id("set", found["key"]) != wanted:
        raise Refused("key-id-mismatch")
    return found["key"]


def read_document(data, content, reader, released):
    """All steps. Appends what comes out to `released`, and returns the metadata."""
    source = Source(open_carrier(data))
    header, digests = read_head(source, reader)
    if header.encrypted:
        return read_encrypted(source, header, digests, find_key(header, reader), released)
    if not source.at_end():
        raise Refused("object-trailing")
    for block in checked_blocks(Source(content), header, digests):
        released.append(block)
    return header.value["metadata"]


def checked_blocks(source, header, digests):
    """Steps 11 and 12."""
    for index in range(header.blocks):
        block = source.take(header.length_of_block(index))
        if index == header.blocks - 1 and not source.at_end():
            raise Refused("object-trailing")
        if sha256(block) != digests[32 * index : 32 * index + 32]:
            raise Refused("block-digest")
        yield block


def read_encrypted(source, header, digests, key, released):
    """Steps 11 to 15."""
    value = header.value
    context = lp(b"wispr/1 payload", value["site"].encode(), value["path"].encode(), from_base64url(value["set"]))
    decryptor = Cobblestone256Decryptor(key, context)
    metadata, left = None, 0
    for index, block in enumerate(checked_blocks(source, header, digests)):
        if index == 0 and commitment(key, block[:24], context) != block[24:PREFIX]:
            raise Refused("payload-invalid")
        message = decrypt(decryptor, block, index == header.blocks - 1)
        if index == 0:
            metadata, message = read_front(message, header.message_length)
            left = metadata["contentLength"]
        released.append(message[:left])
        left -= len(released[-1])
    return metadata


def decrypt(decryptor, block, last):
    """Step 14."""
    try:
        message = decryptor.update(block)
        return message + decryptor.finalize() if last else message
    except InvalidTag:
        raise Refused("payload-invalid") from None


def read_front(message, message_length):
    """Step 15; returns the metadata, and the rest of the block's message."""
    if len(message) < 4:
        raise Refused("payload-invalid")
    end = 4 + int.from_bytes(message[:4], "big")
    metadata, good = parse_canonical(message[4:end]) if end <= min(len(message), 16_004) else (None, False)
    if not good or not is_metadata(metadata) or metadata["contentLength"] > message_length - end:
        raise Refused("payload-invalid")
    return metadata, message[end:]
