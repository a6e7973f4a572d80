"""docs/spec/keys.md."""

import hmac
import re

from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from . import Refused
from .crypto import (
    aes_gcm_open,
    ed25519_public_key,
    hkdf_expand,
    hmac_sha256,
    is_small_order,
    key_id,
    open_cobblestone,
    sha256,
    verify_ed25519,
    xwing_decapsulate,
    xwing_keys,
)
from .encoding import canonical, from_base64url, has_members, lp, parse_canonical, to_base64url, u64
from .names import is_origin, is_site

P = 2**255 - 19
REASONS = ("not-entitled", "lapsed", "revoked", "stale-request", "replayed-request")


def parse_message(data, maximum, members, optional=()):
    """Section 4; None if the message is not of this form."""
    if len(data) > maximum:
        return None
    value, good = parse_canonical(data)
    return value if good and has_members(value, members, optional) else None


def sealed_bytes(label, message, member):
    rest = {name: value for name, value in message.items() if name != member}
    return lp(label.encode("utf-8")) + canonical(rest)


def is_key_id(text):
    return from_base64url(text, 32) is not None


# Section 3

def is_wrapped_key(value):
    return (
        has_members(value, ("id", "kind", "notAfter", "notBefore", "under", "wrapped"))
        and is_key_id(value["id"])
        and is_key_id(value["under"])
        and value["kind"] in ("set", "period")
        and type(value["notAfter"]) is int
        and type(value["notBefore"]) is int
        and from_base64url(value["wrapped"], 60) is not None
    )


def unwrap(outer_kind, outer, wrapped, now):
    if not is_wrapped_key(wrapped):
        raise Refused("wrapped-key-invalid")
    if wrapped["under"] != key_id(outer_kind, outer):
        raise Refused("wrapped-key-invalid")
    sealed = from_base64url(wrapped["wrapped"])
    data = (
        b"wispr/1 wrapped key\n"
        + from_base64url(wrapped["under"])
        + from_base64url(wrapped["id"])
        + lp(wrapped["kind"].encode("ascii"))
        + u64(wrapped["notBefore"])
        + u64(wrapped["notAfter"])
    )
    key = aes_gcm_open(hkdf_expand(outer, lp(b"wispr/1 wrapping"), 32), sealed[:12], sealed[12:], data)
    if key is None:
        raise Refused("wrapped-key-invalid")
    if key_id(wrapped["kind"], key) != wrapped["id"]:
        raise Refused("wrapped-key-invalid")
    if not wrapped["notBefore"] <= now <= wrapped["notAfter"]:
        raise Refused("key-not-valid-now")
    return key


def open_envelope(data, period, wanted, now):
    message = parse_message(data, 262_144, ("keys",))
    found = message["keys"] if message and type(message["keys"]) is list else []
    under = key_id("period", period)
    good = all(is_wrapped_key(key) and key["kind"] == "set" and key["under"] == under for key in found)
    if not good or not 1 <= len(found) <= 512 or len({key["id"] for key in found}) < len(found):
        raise Refused("envelope-malformed")
    return unwrap("period", period, next(key for key in found if key["id"] == wanted), now)


# Section 5

def verify_descriptor(data, now):
    members = ("expires", "issued", "keyServer", "name", "publisherKey", "root", "signature", "sites")
    message = parse_message(data, 65_536, members, ("httpcrypt",))
    if message is None or not has_descriptor_form(message):
        raise Refused("descriptor-malformed")
    key = from_base64url(message["publisherKey"])
    signature = from_base64url(message["signature"], 64)
    if not verify_ed25519(signature, sealed_bytes("wispr/1 provider descriptor", message, "signature"), key):
        raise Refused("descriptor-malformed")
    if now > message["expires"]:
        raise Refused("descriptor-expired")
    return {
        "publisher": message["root"],
        "publisherKey": key_id("publisher", key),
        "keyServer": message["keyServer"],
        "sites": [site["site"] for site in message["sites"]],
    }


def has_descriptor_form(message):
    name, sites = message["name"], message["sites"]
    return (
        type(message["expires"]) is int
        and type(message["issued"]) is int
        and ("httpcrypt" not in message or is_httpcrypt_door(message["httpcrypt"]))
        and is_origin(message["keyServer"], allow_loopback=True)
        and type(name) is str
        and 1 <= len(name.encode("utf-16-be")) // 2 <= 100
        and type(sites) is list
        and 1 <= len(sites) <= 16
        and all(map(is_site_description, sites))
        and len({site["site"] for site in sites}) == len(sites)
        and from_base64url(message["publisherKey"], 32) is not None
        and is_key_id(message["root"])
    )


def is_httpcrypt_door(value):
    """docs/spec/httpcrypt.md section 2."""
    if not has_members(value, ("key", "url")) or from_base64url(value["key"], 32) is None or type(value["url"]) is not str:
        return False
    url = re.fullmatch(r"(http://[^/]+)/([A-Za-z0-9_-]+/)*", value["url"])
    return url is not None and len(value["url"]) <= 200 and is_origin(url[1], allow_http=True)


def is_site_description(value):
    return (
        has_members(value, ("content", "reading", "site"))
        and is_site(value["site"])
        and is_origin(value["reading"], allow_loopback=True)
        and type(value["content"]) is list
        and 1 <= len(value["content"]) <= 8
        and all(is_origin(origin, allow_http=True) for origin in value["content"])
    )


def check_host_proof(text, publisher):
    if f"wispr/1 root={publisher}" not in re.split(r"\r?\n", text):
        raise Refused("host-proof")


# Section 6

def derive_seeds(seed, key_server, publisher):
    tail = lp(key_server.encode("ascii"), from_base64url(publisher))
    return [hkdf_expand(seed, lp(label) + tail, 32) for label in (b"wispr/1 device x-wing", b"wispr/1 device ed25519")]


def derive_device(seed, key_server, publisher):
    xwing, ed25519 = derive_seeds(seed, key_server, publisher)
    return xwing_keys(xwing)[2], ed25519_public_key(ed25519)


def check_device_key(public):
    if len(public) != 1216:
        raise Refused("binding-malformed")
    for offset in range(0, 1152, 3):
        pair = int.from_bytes(public[offset : offset + 3], "little")
        if pair & 0xFFF >= 3329 or pair >> 12 >= 3329:
            raise Refused("binding-malformed")
    point = public[1184:]
    if int.from_bytes(point, "little") >= P or is_small_order(point):
        raise Refused("binding-malformed")


# Section 7

def verify_binding_request(data):
    message = parse_message(data, 8192, ("code", "ed25519", "publisher", "signature", "time", "xwing"))
    if message is None or not has_binding_form(message):
        raise Refused("binding-malformed")
    check_device_key(from_base64url(message["xwing"]))
    signature = from_base64url(message["signature"], 64)
    key = from_base64url(message["ed25519"])
    if not verify_ed25519(signature, sealed_bytes("wispr/1 binding request", message, "signature"), key):
        raise Refused("binding-malformed")
    return {name: message[name] for name in ("code", "publisher", "time")}


def has_binding_form(message):
    return (
        type(message["code"]) is str
        and re.fullmatch("[0-9A-HJKMNP-TV-Z]{16}", message["code"]) is not None
        and from_base64url(message["ed25519"], 32) is not None
        and is_key_id(message["publisher"])
        and type(message["time"]) is int
        and from_base64url(message["xwing"])
    )


def accept_binding(seed, key_server, publisher, request, answer):
    message = parse_message(answer, 8192, ("ciphertext", "confirmation"))
    ciphertext = from_base64url(message["ciphertext"], 1120) if message else None
    confirmation = from_base64url(message["confirmation"], 32) if message else None
    if ciphertext is None or confirmation is None:
        raise Refused("binding-malformed")
    secret = xwing_decapsulate(derive_seeds(seed, key_server, publisher)[0], ciphertext)
    if secret is None:
        raise Refused("binding-malformed")
    info = lp(
        b"wispr/1 device key",
        key_server.encode("ascii"),
        from_base64url(publisher),
        sha256(request),
        sha256(ciphertext),
    )
    key = hkdf_expand(secret, info, 32)
    label = b"wispr/1 binding confirmation"
    if not hmac.compare_digest(confirmation, hmac_sha256(hkdf_expand(key, lp(label), 32), label)):
        raise Refused("binding-malformed")
    return key


# Section 8

def verify_key_request(data, key_server, device_key):
    message = parse_message(data, 16_384, ("device", "keys", "mac", "nonce", "time"))
    if message is None or not has_request_form(message):
        raise Refused("request-malformed")
    key = hkdf_expand(device_key, lp(b"wispr/1 key request mac"), 32)
    right = hmac_sha256(key, sealed_bytes(f"wispr/1 key request {key_server}", message, "mac"))
    given = from_base64url(message["mac"], 32)
    if given is None or not hmac.compare_digest(given, right):
        raise Refused("request-malformed")
    return {name: message[name] for name in ("device", "keys", "time")}


def has_request_form(message):
    keys = message["keys"]
    return (
        is_key_id(message["device"])
        and type(keys) is list
        and 1 <= len(keys) <= 256
        and all(map(is_key_id, keys))
        and len(set(keys)) == len(keys)
        and from_base64url(message["nonce"], 16) is not None
        and type(message["time"]) is int
    )


def open_key_answer(sealed, request, device_key):
    if not 12 < len(sealed) <= 262_144:
        raise Refused("answer-unreadable")
    key = hkdf_expand(device_key, lp(b"wispr/1 key answer"), 32)
    plain = aes_gcm_open(key, sealed[:12], sealed[12:], b"wispr/1 key answer\n" + sha256(request))
    value, good = parse_canonical(plain) if plain is not None else (None, False)
    if not good or not is_key_answer(value):
        raise Refused("answer-unreadable")
    return {
        "keys": [key["id"] for key in value["keys"]],
        "refused": [f"{refusal['id']} {refusal['reason']}" for refusal in value["refused"]],
        "time": value["time"],
    }


def is_key_answer(value):
    return (
        has_members(value, ("keys", "refused", "time"))
        and type(value["time"]) is int
        and type(value["keys"]) is list
        and type(value["refused"]) is list
        and all(map(is_wrapped_key, value["keys"]))
        and all(
            has_members(refusal, ("id", "reason")) and is_key_id(refusal["id"]) and refusal["reason"] in REASONS
            for refusal in value["refused"]
        )
    )


# Section 9

def open_bundle(data, seed):
    header, signed, signature, payload = split_bundle(data)
    if header is None:
        raise Refused("bundle-malformed")
    publisher_key = from_base64url(header["publisherKey"])
    if not verify_ed25519(signature, b"wispr/1 key bundle\n" + signed, publisher_key):
        raise Refused("bundle-malformed")
    if to_base64url(sha256(payload)) != header["payloadDigest"]:
        raise Refused("bundle-malformed")
    recipient = sha256(b"wispr/1 recipient key id\n" + xwing_keys(seed)[2])
    if header["recipient"] != to_base64url(recipient):
        raise Refused("bundle-recipient")
    publisher = key_id("publisher", publisher_key)
    secret = xwing_decapsulate(seed, from_base64url(header["kem"]))
    context = lp(b"wispr/1 key bundle", recipient, from_base64url(publisher))
    message = open_cobblestone(hkdf_expand(secret, context, 32), context, payload) if secret else None
    bundle, good = parse_canonical(message) if message is not None else (None, False)
    if not good or not is_bundle(bundle):
        raise Refused("bundle-malformed")
    about = {name: header[name] for name in ("issued", "serial", "workspace")}
    return {**bundle, **about, "publisher": publisher}


def split_bundle(data):
    """Step B1; the header is None if any of it is wrong."""
    nothing = (None, None, None, None)
    magic = b"wispr-bundle/1\n"
    if len(data) > 64 * 1024 * 1024 or not data.startswith(magic) or len(data) < len(magic) + 4:
        return nothing
    start = len(magic) + 4
    length = int.from_bytes(data[len(magic) : start], "big")
    end = start + length
    if length > 8192 or len(data) < end + 64:
        return nothing
    members = ("issued", "kem", "payloadDigest", "publisherKey", "recipient", "serial", "workspace")
    header = parse_message(data[start:end], 8192, members)
    if header is None or not has_bundle_header_form(header):
        return nothing
    return header, data[start:end], data[end : end + 64], data[end + 64 :]


def has_bundle_header_form(header):
    lengths = {"kem": 1120, "publisherKey": 32, "recipient": 32, "workspace": 16}
    return (
        all(from_base64url(header[name], length) is not None for name, length in lengths.items())
        and type(header["issued"]) is int
        and type(header["serial"]) is int
    )


def is_bundled_period(value):
    members = ("from", "id", "key", "plan", "sets", "site", "until")
    return (
        has_members(value, members, ("zone",))
        and from_base64url(value["key"], 32) is not None
        and key_id("period", from_base64url(value["key"])) == value["id"]
        and all(type(value[name]) is str for name in ("plan", "site", "zone") if name in value)
        and is_site(value["site"])
        and type(value["sets"]) is list
        and all(type(pattern) is str for pattern in value["sets"])
        and type(value["from"]) is int
        and type(value["until"]) is int
        and value["from"] <= value["until"]
    )


def is_bundle(value):
    return (
        has_members(value, ("descriptor", "root", "sets"), ("periods", "timestampKey"))
        and type(value.get("periods", [])) is list
        and len(value.get("periods", [])) <= 64
        and all(is_bundled_period(period) for period in value.get("periods", []))
        and ("timestampKey" not in value or from_base64url(value["timestampKey"], 32) is not None)
        and from_base64url(value["root"]) is not None
        and from_base64url(value["descriptor"]) is not None
        and type(value["sets"]) is list
        and all(map(is_bundled_set, value["sets"]))
    )


def is_bundled_set(value):
    if not has_members(value, ("id", "key", "name", "site")):
        return False
    key = from_base64url(value["key"], 32)
    return key is not None and key_id("set", key) == value["id"] and type(value["name"]) is str and is_site(value["site"])


# docs/spec/roaming.md

ROAMING_MAGIC = b"wispr-roaming/1\n"


def padme(length):
    """Algorithm 1 of the paper on PURBs."""
    if length < 2:
        return length
    exponent = length.bit_length() - 1
    zeros = exponent - exponent.bit_length()
    mask = (1 << max(zeros, 0)) - 1
    return (length + mask) & ~mask


def roaming_salt(file):
    """Steps R1 to R3."""
    head = len(ROAMING_MAGIC) + 16
    sealed = len(file) - head - 56
    full, rest = divmod(sealed, 16400)
    if len(file) > 4 * 1024 * 1024 or file[:16] != ROAMING_MAGIC or sealed < 16 or rest < 16:
        raise Refused("roaming-malformed")
    length = full * 16384 + rest - 16
    if length != max(16384, padme(length)):
        raise Refused("roaming-malformed")
    return file[16:head]


def stretch(words, salt):
    return Argon2id(salt=salt, length=32, iterations=3, lanes=1, memory_cost=262144).derive(words.encode("utf-8"))


def open_roaming(file, stretched, words=None):
    salt = roaming_salt(file)
    if words is not None and stretch(words, salt) != stretched:
        raise ValueError("Argon2id comes to something else")
    context = lp(b"wispr/1 roaming file", salt)
    message = open_cobblestone(hkdf_expand(stretched, context, 32), context, file[32:])
    if message is None:
        raise Refused("roaming-unreadable")
    length = int.from_bytes(message[:4], "big")
    text, zeros = message[4 : 4 + length], message[4 + length :]
    value, good = parse_canonical(text)
    if len(text) != length or any(zeros) or len(message) != max(16384, padme(4 + length)) or not good:
        raise Refused("roaming-malformed")
    if not has_roaming_form(value):
        raise Refused("roaming-malformed")
    descriptors = [verify_descriptor(from_base64url(binding["descriptor"]), 0) for binding in value["bindings"]]
    for binding, descriptor in zip(value["bindings"], descriptors):
        if to_base64url(sha256(from_base64url(binding["root"]))) != descriptor["publisher"]:
            raise Refused("roaming-malformed")
    providers = [(descriptor["keyServer"], descriptor["publisher"]) for descriptor in descriptors]
    sites = [site for binding in value["bindings"] for site in binding["sites"]]
    if len(set(sites)) != len(sites) or len(set(providers)) != len(providers):
        raise Refused("roaming-malformed")
    about = {name: value[name] for name in ("id", "number", "written")}
    return {**about, "keyServers": [server for server, _ in providers], "sites": sites}


def has_roaming_form(value):
    return (
        has_members(value, ("bindings", "id", "number", "seed", "written"))
        and from_base64url(value["id"], 16) is not None
        and type(value["number"]) is int
        and value["number"] > 0
        and from_base64url(value["seed"], 32) is not None
        and type(value["written"]) is int
        and isinstance(value["bindings"], list)
        and len(value["bindings"]) <= 256
        and all(map(has_roaming_binding_form, value["bindings"]))
    )


def has_roaming_binding_form(value):
    return (
        has_members(value, ("bound", "descriptor", "deviceKey", "root", "sites"))
        and type(value["bound"]) is int
        and from_base64url(value["descriptor"]) is not None
        and from_base64url(value["deviceKey"], 32) is not None
        and from_base64url(value["root"]) is not None
        and isinstance(value["sites"], list)
        and len(value["sites"]) <= 16
        and all(map(is_site, value["sites"]))
    )


# docs/spec/web-reader.md, "Key files"

KEY_FILE_MAGIC = b"wispr-keyfile/1\n"


def open_key_file(file, secret, root, site, password=None, salt=None):
    if password is not None:
        made = Argon2id(salt=salt, length=32, iterations=3, lanes=1, memory_cost=65536).derive(password.encode("utf-8"))
        if made != secret:
            raise ValueError("Argon2id comes to something else")
    extracted = hmac.digest(b"wispr/1 invitation", secret, "sha512")
    context = lambda label: lp(label, root.encode("ascii"), site.encode("ascii"))
    name = hkdf_expand(extracted, context(b"wispr/1 key file name"), 16)
    key = hkdf_expand(extracted, context(b"wispr/1 key file key"), 32)
    sealed = len(file) - 16 - 56
    full, rest = divmod(sealed, 16400)
    length = full * 16384 + rest - 16
    good = len(file) <= 1024 * 1024 and file[:16] == KEY_FILE_MAGIC and sealed >= 16 and rest >= 16
    message = good and length == max(4096, padme(length)) and open_cobblestone(key, context(b"wispr/1 key file"), file[16:])
    if not message:
        raise Refused("key-file-malformed")
    size = int.from_bytes(message[:4], "big")
    text, zeros = message[4 : 4 + size], message[4 + size :]
    value, good = parse_canonical(text)
    if len(text) != size or any(zeros) or len(message) != max(4096, padme(4 + size)) or not good:
        raise Refused("key-file-malformed")
    if not has_document_keys_form(value):
        raise Refused("key-file-malformed")
    ids = [each["id"] for each in value["keys"]]
    if any(key_id("set", from_base64url(each["key"])) != each["id"] for each in value["keys"]):
        raise Refused("key-file-malformed")
    return {"keys": ids, "name": to_base64url(name)}


def has_document_keys_form(value):
    """docs/spec/web-reader.md, section 5; without a pair and refusals, which key files do not have."""
    return (
        has_members(value, ("keys", "refused", "time"))
        and value["refused"] == []
        and type(value["time"]) is int
        and isinstance(value["keys"], list)
        and len(value["keys"]) <= 4096
        and all(map(is_document_key, value["keys"]))
        and len({each["id"] for each in value["keys"]}) == len(value["keys"])
    )


def is_document_key(value):
    return (
        has_members(value, ("id", "key", "notAfter", "notBefore"))
        and is_key_id(value["id"])
        and from_base64url(value["key"], 32) is not None
        and type(value["notAfter"]) is int
        and type(value["notBefore"]) is int
    )
