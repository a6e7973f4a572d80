"""The algorithms: Cobblestone-256 from `cryptography`, Ed25519 from libsodium by PyNaCl, X-Wing put together here."""

import hashlib
import hmac

from cryptography.cobblestone import Cobblestone256Decryptor
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from .encoding import to_base64url

XWING_LABEL = b"\\.//^\\"
MLKEM_CIPHERTEXT = 1088


def sha256(data):
    return hashlib.sha256(data).digest()


def hmac_sha256(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def hkdf_expand(key, info, length):
    return HKDFExpand(hashes.SHA512(), length, info).derive(key)


def key_id(kind, key):
    return to_base64url(sha256(b"wispr/1 " + kind.encode("ascii") + b" key id\n" + key))


def verify_ed25519(signature, message, public_key):
    if signature is None or len(signature) != 64:
        return False
    try:
        VerifyKey(public_key).verify(message, signature)
        return True
    except BadSignatureError:
        return False


def ed25519_public_key(seed):
    return bytes(SigningKey(seed).verify_key)


def aes_gcm_open(key, nonce, sealed, data):
    """The plaintext, or None."""
    try:
        return AESGCM(key).decrypt(nonce, sealed, data)
    except InvalidTag:
        return None


def xwing_keys(seed):
    """draft-connolly-cfrg-xwing-kem, expandDecapsulationKey: the ML-KEM-768 key, the X25519 key, and the public key."""
    expanded = hashlib.shake_256(seed).digest(96)
    mlkem = MLKEM768PrivateKey.from_seed_bytes(expanded[:64])
    x25519 = X25519PrivateKey.from_private_bytes(expanded[64:])
    public = mlkem.public_key().public_bytes_raw() + x25519.public_key().public_bytes_raw()
    return mlkem, x25519, public


def xwing_decapsulate(seed, ciphertext):
    """The shared secret; None if the X25519 part of the ciphertext is of small order."""
    mlkem, x25519, public = xwing_keys(seed)
    point = ciphertext[MLKEM_CIPHERTEXT:]
    try:
        shared = x25519.exchange(X25519PublicKey.from_public_bytes(point))
    except ValueError:
        return None
    return hashlib.sha3_256(
        mlkem.decapsulate(ciphertext[:MLKEM_CIPHERTEXT]) + shared + point + public[-32:] + XWING_LABEL
    ).digest()


def is_small_order(point):
    try:
        X25519PrivateKey.from_private_bytes(b"\x07" * 32).exchange(X25519PublicKey.from_public_bytes(point))
        return False
    except ValueError:
        return True


def commitment(key, salt, context):
    """C2SP chunked-encryption, key derivation: AEAD key (32) || base nonce (12) || commitment (32)."""
    return hkdf_expand(key, b"c2sp.org/chunked-encryption@v1+AEAD_AES_256_GCM\x00" + salt + context, 76)[44:]


def open_cobblestone(key, context, sealed):
    """A whole message, or None."""
    decryptor = Cobblestone256Decryptor(key, context)
    try:
        return decryptor.update(sealed) + decryptor.finalize()
    except InvalidTag:
        return None
