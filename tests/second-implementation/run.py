"""Takes vectors through the second implementation.

Standard input: one JSON object with any of the members `objects`, `keys`, `httpcrypt`, `link`, `paths`, `canonicalJson` (the files of tests/vectors) and
`cobblestone` (messages to encrypt) and `hpke` (messages to open with a secret key, and to seal to a public key). Standard output: what came of them, under the same names. Expected outcomes are not looked at.
"""

import base64
import hashlib
import json
import sys
from urllib.parse import urlsplit

from cryptography.cobblestone import Cobblestone256Encryptor
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from wispr import Refused, crypto, httpcrypt, keys, link, names
from wispr.encoding import parse_canonical
from wispr.protected_object import read_document


def encode(data):
    return base64.b64encode(data).decode("ascii")


def unpack(packed):
    return b"".join(bytes(piece) if isinstance(piece, int) else base64.b64decode(piece) for piece in packed)


def describe(data):
    return {"length": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def run_object(defaults, vector):
    reader = {**defaults, **vector["reader"]}
    reader["publisherKey"] = base64.b64decode(reader["publisherKey"])
    reader["keys"] = [{**key, "key": base64.b64decode(key["key"])} for key in reader["keys"]]
    released = []
    outcome = {"name": vector["name"]}
    try:
        content = unpack(vector.get("content", []))
        outcome["metadata"] = read_document(unpack(vector["object"]), content, reader, released)
        outcome["outcome"] = "success"
    except Refused as refusal:
        outcome["outcome"] = refusal.code
    data = b"".join(released)
    outcome["released"] = describe(data)
    return outcome


def derive_device(seed, key_server, publisher):
    xwing, ed25519 = keys.derive_device(seed, key_server, publisher)
    return {"xwing": encode(xwing), "ed25519": encode(ed25519)}


def accept_binding(seed, *rest):
    key = keys.accept_binding(seed, *rest)
    return {"id": crypto.key_id("device", key), "key": encode(key)}


def decapsulate(seed, ciphertext):
    secret = crypto.xwing_decapsulate(seed, ciphertext)
    return {"publicKey": encode(crypto.xwing_keys(seed)[2]), "sharedSecret": encode(secret or b"")}


OPERATIONS = {
    "key-id": lambda i: {"id": crypto.key_id(i["kind"], data(i, "key"))},
    "unwrap-key": lambda i: {
        "key": encode(keys.unwrap(i["outerKind"], data(i, "outerKey"), json.loads(i["wrapped"]), i["now"]))
    },
    "open-envelope": lambda i: {
        "key": encode(keys.open_envelope(data(i, "envelope"), data(i, "periodKey"), i["set"], i["now"]))
    },
    "verify-descriptor": lambda i: keys.verify_descriptor(data(i, "descriptor"), i["now"]),
    "host-proof": lambda i: keys.check_host_proof(i["text"], i["publisher"]),
    "derive-device": lambda i: derive_device(data(i, "seed"), i["keyServer"], i["publisher"]),
    "check-device-key": lambda i: keys.check_device_key(data(i, "xwing")),
    "xwing-decapsulate": lambda i: decapsulate(data(i, "seed"), data(i, "ciphertext")),
    "verify-binding-request": lambda i: keys.verify_binding_request(data(i, "request")),
    "accept-binding": lambda i: accept_binding(
        data(i, "seed"), i["keyServer"], i["publisher"], data(i, "request"), data(i, "answer")
    ),
    "verify-key-request": lambda i: keys.verify_key_request(data(i, "request"), i["keyServer"], data(i, "deviceKey")),
    "open-key-answer": lambda i: keys.open_key_answer(data(i, "answer"), data(i, "request"), data(i, "deviceKey")),
    "open-key-file": lambda i: keys.open_key_file(
        data(i, "file"), data(i, "secret"), i["root"], i["site"], i.get("password"), i.get("salt") and data(i, "salt")
    ),
    "open-roaming": lambda i: keys.open_roaming(data(i, "file"), data(i, "stretched"), i.get("words")),
    "open-bundle": lambda i: keys.open_bundle(data(i, "bundle"), data(i, "seed")),
}


def verify_record(record, url, key, now):
    public_key, identifier, not_after = httpcrypt.verify_record(record, url, key, now)
    return {"publicKey": encode(public_key), "id": encode(identifier), "notAfter": not_after}


def read_zone(zone, url, record_type):
    """From the records of this type, in the presentation form of DNS."""
    name = "httpcrypt." + urlsplit(url).hostname + "."
    owner = "_80._tcp." + name if record_type == "TLSA" else name
    lines = [line.split(" ", 4) for line in zone.splitlines()]
    values = [value for at, _, _, kind, value in lines if at == owner and kind == record_type]
    if record_type == "TXT":
        return httpcrypt.read_text(values[0].strip('"'))
    if record_type == "TLSA":
        *numbers, digits = values[0].split(" ")
        return httpcrypt.read_tlsa(bytes(map(int, numbers)) + bytes.fromhex(digits))
    return httpcrypt.read_addresses(values)


def open_channel_request(i):
    tickets = {data(i, "ticket"): data(i, "secret")} if "ticket" in i else {}
    request = httpcrypt.open_request(data(i, "seed"), tickets, i["cookie"], data(i, "body"))
    return {**request, "content": describe(request["content"])}


def open_channel_answer(*given):
    answer, ticket, secret = httpcrypt.open_answer(*given)
    return {**answer, "content": describe(answer["content"]), "ticket": encode(ticket), "secret": encode(secret)}


HTTPCRYPT_OPERATIONS = {
    "verify-record": lambda i: verify_record(data(i, "record"), i["url"], data(i, "key"), i["now"]),
    "read-addresses": lambda i: {"record": encode(httpcrypt.read_addresses(i["addresses"].split(" ")))},
    "read-text": lambda i: {"record": encode(httpcrypt.read_text(i["text"]))},
    "read-options": lambda i: {"record": encode(httpcrypt.read_options(i["text"]))},
    "read-zone": lambda i: {"record": encode(read_zone(i["zone"], i["url"], i["type"]))},
    "agree": lambda i: {"secret": encode(httpcrypt.agree(data(i, "seed"), data(i, "publicKey")))},
    "open-request": open_channel_request,
    "open-answer": lambda i: open_channel_answer(
        *(data(i, name) for name in ("publicKey", "shown", "secret", "salt", "body"))
    ),
}


def certificates(values, name):
    return [base64.b64decode(text) for text in values.get(name, "").split()]


LINK_OPERATIONS = {
    "list": lambda i: link.list_certificates(data(i, "records"), certificates(i, "chain"), certificates(i, "clients")),
    "unlist": lambda i: link.take_list(data(i, "records"))[0],
    "substitute": lambda i: link.substitute(
        data(i, "records"), link.take_list(data(i, "hello"))[1], certificates(i, "held")
    ),
    "restore": lambda i: link.restore(data(i, "records"), certificates(i, "chain")),
}


def run_link(vector):
    operations = {name: lambda i, run=run: {"records": encode(run(i))} for name, run in LINK_OPERATIONS.items()}
    return run_key(vector, operations)


def data(values, name):
    return base64.b64decode(values[name])


def run_key(vector, operations=OPERATIONS):
    outcome = {"name": vector["name"]}
    try:
        result = operations[vector["operation"]](vector["input"])
        outcome["outcome"] = "success"
        if result:
            outcome["result"] = result
    except Refused as refusal:
        outcome["outcome"] = refusal.code
    return outcome


def run_paths(file):
    return {
        "documentPathOf": [{"url": v["url"], "path": names.document_path_of(v["url"])} for v in file["documentPathOf"]],
        "urlPathOf": [{"path": v["path"], "url": names.url_path_of(v["path"])} for v in file["urlPathOf"]],
        "isDocumentPath": [
            {"path": v["path"], "valid": names.is_document_path(v["path"])} for v in file["isDocumentPath"]
        ],
        "isSite": [{"site": v["site"], "valid": names.is_site(v["site"])} for v in file["isSite"]],
    }


def encrypt(message):
    """With the salt that `cryptography` draws; the key, context and message are the caller's."""
    encryptor = Cobblestone256Encryptor(data(message, "key"), data(message, "context"))
    return encode(encryptor.update(data(message, "message")) + encryptor.finalize())


def exchange(message):
    suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
    secret_key = X25519PrivateKey.from_private_bytes(data(message, "secretKey"))
    public_key = X25519PublicKey.from_public_bytes(data(message, "publicKey"))
    info = data(message, "info")
    opened = suite.decrypt(data(message, "sealed"), secret_key, info)
    return {"opened": encode(opened), "sealed": encode(suite.encrypt(opened, public_key, info))}


def main():
    given = json.load(sys.stdin)
    came = {}
    if "objects" in given:
        came["objects"] = [run_object(given["objects"]["reader"], vector) for vector in given["objects"]["vectors"]]
    if "keys" in given:
        came["keys"] = [run_key(vector) for vector in given["keys"]["vectors"]]
    if "httpcrypt" in given:
        came["httpcrypt"] = [run_key(vector, HTTPCRYPT_OPERATIONS) for vector in given["httpcrypt"]["vectors"]]
    if "link" in given:
        came["link"] = [run_link(vector) for vector in given["link"]["vectors"]]
    if "paths" in given:
        came["paths"] = run_paths(given["paths"])
    if "canonicalJson" in given:
        came["canonicalJson"] = [
            {**vector, "canonical": parse_canonical(data(vector, "bytes"))[1]}
            for vector in given["canonicalJson"]["vectors"]
        ]
    if "cobblestone" in given:
        came["cobblestone"] = [encrypt(message) for message in given["cobblestone"]]
    if "hpke" in given:
        came["hpke"] = [exchange(message) for message in given["hpke"]]
    json.dump(came, sys.stdout)


main()
