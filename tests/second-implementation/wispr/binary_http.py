"""RFC 9292, Binary Representation of HTTP Messages: whole messages of both forms."""

import re


class NotBinaryHttp(Exception):
    """The message is invalid (RFC 9292 section 4)."""


class Reader:
    """Walks through a message."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def done(self):
        return self.at == len(self.data)

    def take(self, length):
        if length > len(self.data) - self.at:
            raise NotBinaryHttp
        self.at += length
        return self.data[self.at - length : self.at]

    def integer(self):
        """RFC 9000 section 16; longer spellings than needed are valid."""
        first = self.take(1)[0]
        return int.from_bytes(bytes([first & 0x3F]) + self.take((1 << (first >> 6)) - 1), "big")

    def text(self):
        return self.take(self.integer())


def field_line(reader, name_length):
    """Section 3.6; values as HTTP/2 section 8.2.1 has them. Names are given in lower case."""
    name = reader.take(name_length)
    value = reader.text()
    if not re.fullmatch(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
        raise NotBinaryHttp
    if re.search(rb"[\x00\r\n]", value) or value.strip(b" \t") != value:
        raise NotBinaryHttp
    return [name.decode("ascii").lower(), value.decode("latin-1")]


def known_fields(reader):
    inner = Reader(reader.text())
    fields = []
    while not inner.done():
        fields += field_line(inner, inner.integer())
    return fields


def ended_fields(reader):
    fields = []
    while (length := reader.integer()) != 0:
        fields += field_line(reader, length)
    return fields


def ended_content(reader):
    content = b""
    while (length := reader.integer()) != 0:
        content += reader.take(length)
    return content


def request_control(reader):
    method, scheme, authority, path = (reader.text() for _ in range(4))
    valid = (
        re.fullmatch(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+", method)
        and re.fullmatch(rb"[A-Za-z][A-Za-z0-9+.-]*", scheme)
        and re.fullmatch(rb"[\x21-\x7e]*", authority)
        and (re.fullmatch(rb"/[\x21-\x7e\x80-\xff]*", path) or path == b"*")
    )
    if not valid:
        raise NotBinaryHttp
    names = ("method", "scheme", "authority", "path")
    return dict(zip(names, (part.decode("latin-1") for part in (method, scheme, authority, path))))


def answer_control(reader, fields_of):
    """The final answer; the interim ones in front of it are passed over."""
    while 100 <= (status := reader.integer()) < 200:
        fields_of(reader)
    if not 200 <= status < 600:
        raise NotBinaryHttp
    return {"status": status}


def read_message(data, is_answer):
    """What stands in the control data, then `fields` (names and values in turn), `content`, and the
    numbers of bytes of the head and trailers."""
    reader = Reader(data)
    framing = reader.integer()
    if framing not in ((1, 3) if is_answer else (0, 2)):
        raise NotBinaryHttp
    fields_of, content_of = (known_fields, Reader.text) if framing < 2 else (ended_fields, ended_content)
    message = answer_control(reader, fields_of) if is_answer else request_control(reader)
    message["fields"] = fields_of(reader)
    message["head"] = reader.at
    message["content"] = b"" if reader.done() else content_of(reader)
    before = reader.at
    if not reader.done():
        fields_of(reader)
    message["trailers"] = reader.at - before
    lengths = [value for name, value in zip(*[iter(message["fields"])] * 2) if name == "content-length"]
    if len(lengths) > 1 or not all(re.fullmatch("[0-9]{1,15}", length) for length in lengths):
        raise NotBinaryHttp
    is_true = all(int(length) == len(message["content"]) for length in lengths)
    if any(data[reader.at :]) or not (is_answer or is_true):
        raise NotBinaryHttp
    return message
