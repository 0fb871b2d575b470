"""Encrypted files by docs/format.md, from the `cryptography` package: an independent reader and writer.

    container.py decrypt|encrypt [SUITE|bare:SUITE] key:HEX|passphrase:TEXT < in > out
"""
import base64, os, sys
from cryptography.hazmat.primitives import cmac, hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESOCB3
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

CHUNK, TAG = 16384, 16

class Eax:
    def __init__(self, key):
        self.aes = algorithms.AES(key)
    def parts(self, nonce, data, sealed):
        n, h, c = (self.omac(t, m) for t, m in enumerate([nonce, b"", sealed]))
        return n, bytes(x ^ y ^ z for x, y, z in zip(n, h, c))
    def omac(self, t, message):
        mac = cmac.CMAC(self.aes)
        mac.update(bytes(15) + bytes([t]) + message)
        return mac.finalize()
    def ctr(self, n, data):
        return Cipher(self.aes, modes.CTR(n)).encryptor().update(data)
    def encrypt(self, nonce, data, _):
        sealed = self.ctr(self.omac(0, nonce), data)
        return sealed + self.parts(nonce, data, sealed)[1]
    def decrypt(self, nonce, data, _):
        n, tag = self.parts(nonce, None, data[:-TAG])
        assert tag == data[-TAG:], "a chunk was changed"
        return self.ctr(n, data[:-TAG])

def serpent(mode):
    def of_key(key):
        import serpent  # of another library
        return serpent.Serpent(getattr(serpent, mode), key)
    return of_key

def gcm_siv(key):
    from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV  # newer than the rest
    return AESGCMSIV(key)

SUITES = {"aes-256-gcm": (1, b"AEAD_AES_256_GCM", AESGCM, 32, 12), "aes-128-gcm": (2, b"AEAD_AES_128_GCM", AESGCM, 16, 12),
          "serpent-256-eax": (3, b"AEAD_SERPENT_256_EAX@crossgrain", serpent("EAX"), 32, 16),
          "aes-256-eax": (4, b"AEAD_AES_256_EAX@crossgrain", Eax, 32, 16),
          "aes-256-ocb": (5, b"AEAD_AES_256_OCB_TAGLEN128", AESOCB3, 32, 12),
          "serpent-256-ocb": (6, b"AEAD_SERPENT_256_OCB_TAGLEN128@crossgrain", serpent("OCB"), 32, 12),
          "aes-256-gcm-siv": (7, b"AEAD_AES_256_GCM_SIV", gcm_siv, 32, 12)}

def input_key(secret, phc, key_bytes):
    if not phc:
        return bytes.fromhex(secret)
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id  # newer than the rest
    _, kind, version, costs, salt = phc.split("$")
    assert (kind, version) == ("argon2id", "v=19")
    m, t, p = (int(cost.split("=")[1]) for cost in costs.split(","))
    salt = base64.b64decode(salt + "=" * (-len(salt) % 4))
    return Argon2id(salt=salt, length=key_bytes, iterations=t, lanes=p, memory_cost=m).derive(secret.encode())

def payload(name, key, salt, context):
    _, aead, kind, key_bytes, nonce_bytes = SUITES[name]
    info = b"c2sp.org/chunked-encryption@v1+" + aead + b"\0" + salt + context
    made = HKDFExpand(hashes.SHA512(), key_bytes + nonce_bytes + 32, info).derive(key)
    base = int.from_bytes(made[key_bytes:-32], "big")
    return kind(made[:key_bytes]), lambda k: (base ^ k).to_bytes(nonce_bytes, "big"), made[-32:]

def pieces(source, length):
    k, piece = 0, source.read(length)
    while len(piece) == length:
        yield k, piece
        k, piece = k + 1, source.read(length)
    yield k, piece

def main(source, sink, what, name, secret):
    kind, secret = secret.split(":", 1)
    bare, name = name.startswith("bare:"), name.removeprefix("bare:")
    if what == "encrypt":
        salt = base64.b64encode(os.urandom(16)).decode().rstrip("=")
        phc = f"$argon2id$v=19$m=64,t=1,p=1${salt}" if kind == "passphrase" else ""
        header = b"" if bare else b"crossgrain" + bytes([1, SUITES[name][0], len(phc)]) + phc.encode()
        key, salt = input_key(secret, phc, SUITES[name][3]), os.urandom(24)
        aead, nonce, commitment = payload(name, key, salt, header)
        sink.write(header + salt + commitment)
        for k, piece in pieces(source, CHUNK):
            sink.write(aead.encrypt(nonce(k), piece, None))
        return
    header, phc = b"", ""
    if not bare:
        header = source.read(13)
        assert header[:11] == b"crossgrain\x01", "no such file"
        name = next(name for name, suite in SUITES.items() if suite[0] == header[11])
        phc = source.read(header[12]).decode()
        header += phc.encode()
    salt, commitment = source.read(24), source.read(32)
    aead, nonce, right = payload(name, input_key(secret, phc, SUITES[name][3]), salt, header)
    assert commitment == right, "wrong key"
    for k, piece in pieces(source, CHUNK + TAG):
        assert len(piece) >= TAG, "cut off"
        sink.write(aead.decrypt(nonce(k), piece, None))

if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer, *sys.argv[1:])
