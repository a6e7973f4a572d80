"""Sites, paths and origins."""

import ipaddress
import re

SEGMENT_REFUSES = re.compile(r"[/\\\x00-\x1f\x7f]")
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def is_site(text):
    if type(text) is not str or not 1 <= len(text) <= 253:
        return False
    labels = text.split(".")
    return all(LABEL.fullmatch(label) for label in labels) and not NUMBER.fullmatch(labels[-1])


def is_segment(segment):
    return segment not in ("", ".", "..") and not SEGMENT_REFUSES.search(segment)


def is_document_path(text):
    if type(text) is not str or not text.startswith("/"):
        return False
    try:
        if len(text.encode("utf-8")) > 2048:
            return False
    except UnicodeEncodeError:
        return False
    return all(is_segment(segment) for segment in text[1:].split("/"))


def percent_decode(segment):
    """None where a percent sign does not begin two hexadecimal digits, or the bytes are not UTF-8."""
    if re.search(r"%(?![0-9A-Fa-f]{2})", segment):
        return None
    pieces = re.split(r"%([0-9A-Fa-f]{2})", segment)
    data = b"".join(
        bytes([int(piece, 16)]) if index % 2 else piece.encode("utf-8") for index, piece in enumerate(pieces)
    )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def document_path_of(url):
    path = re.split(r"[?#]", url, maxsplit=1)[0]
    if not path.startswith("/"):
        return None
    segments = [percent_decode(segment) for segment in path[1:].split("/")]
    if segments[-1] == "":
        segments[-1] = "index.html"
    if not all(segment is not None and is_segment(segment) for segment in segments):
        return None
    document = "/" + "/".join(segments)
    return document if is_document_path(document) else None


def url_path_of(document):
    return "/".join(
        "".join(chr(byte) if byte in UNRESERVED else f"%{byte:02X}" for byte in segment.encode("utf-8"))
        for segment in document.split("/")
    )


def is_origin(text, allow_loopback=False, allow_http=False):
    match = re.fullmatch(r"(https?)://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([1-9][0-9]{0,4}))?", text) if type(text) is str else None
    if match is None:
        return False
    scheme, host, port = match.groups()
    if not is_host(host) or (port is not None and (int(port) > 65535 or int(port) == {"http": 80, "https": 443}[scheme])):
        return False
    return scheme == "https" or allow_http or (allow_loopback and is_loopback(host))


def is_host(host):
    try:
        if host.startswith("["):
            return str(ipaddress.IPv6Address(host[1:-1])) == host[1:-1]
        if NUMBER.fullmatch(host.rstrip(".").split(".")[-1]):
            return str(ipaddress.IPv4Address(host)) == host
    except ValueError:
        return False
    return all(host.split("."))


def is_loopback(host):
    return host in ("localhost", "[::1]") or host.endswith(".localhost") or bool(re.fullmatch(r"127(\.\d+){3}", host))
