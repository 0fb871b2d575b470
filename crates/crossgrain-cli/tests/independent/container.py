"""Encrypted files by docs/format.md, from the `cryptography` package: an independent reader and writer.

    container.py decrypt|encrypt [SUITE|bare:SUITE] key:HEX|passphrase:TEXT < in > out
    container.py encrypt slots:SUITE key:HEX|passphrase:TEXT|recipient:age1… … < in > out
    container.py decrypt - key:HEX|passphrase:TEXT|identity:AGE-SECRET-KEY-1… < in > out
"""
import base64, hmac, io, os, sys
from cryptography.hazmat.primitives import cmac, hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESOCB3
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand

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

def of_bech32(prefix, text):
    alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
    assert text.lower().startswith(prefix + "1") and text in (text.lower(), text.upper()), "another kind of text"
    symbols = [alphabet.index(letter) for letter in text.lower()[len(prefix) + 1:]]
    sum = 1
    for value in [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix] + symbols:
        high, sum = sum >> 25, (sum & 0x1ffffff) << 5 ^ value
        for i, term in enumerate([0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]):
            sum ^= term if high >> i & 1 else 0
    assert sum == 1, "mistyped"
    number = 0
    for symbol in symbols[:-6]:
        number = number << 5 | symbol
    return (number >> 4).to_bytes(32, "big")

def agreed(secret, public, share, recipient, length):
    shared = X25519PrivateKey.from_private_bytes(secret).exchange(X25519PublicKey.from_public_bytes(public))
    return HKDF(hashes.SHA512(), length, share + recipient, b"crossgrain/x25519@v2").derive(shared)

def public_of(secret):
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()

def header_tag(file_key, covered):
    return HKDFExpand(hashes.SHA512(), 32, b"crossgrain/header@v2" + covered).derive(file_key)

def write_slots(name, file_key, locks, random=os.urandom):
    fixed, key_bytes, slots = b"crossgrain" + bytes([2, SUITES[name][0]]), SUITES[name][3], b""
    for kind, secret in (lock.split(":", 1) for lock in locks):
        if kind == "key":
            start, key = bytes([1, 0]), bytes.fromhex(secret)
        elif kind == "passphrase":
            phc = "$argon2id$v=19$m=64,t=1,p=1$" + base64.b64encode(random(16)).decode().rstrip("=")
            start, key = bytes([2, len(phc)]) + phc.encode(), input_key(secret, phc, key_bytes)
        else:
            recipient, ephemeral = of_bech32("age", secret), random(32)
            share = public_of(ephemeral)
            start, key = bytes([3, 32]) + share, agreed(ephemeral, recipient, share, recipient, key_bytes)
        salt = random(24)
        aead, nonce, commitment = payload(name, key, salt, fixed + start)
        slots += start + salt + commitment + aead.encrypt(nonce(0), file_key, None)
    covered = fixed + len(slots).to_bytes(2, "big") + slots
    return fixed, covered + header_tag(file_key, covered)

def open_slots(name, fixed, covered, tag, kind, secret):
    key_bytes, slots = SUITES[name][3], io.BytesIO(covered[14:])
    while start := slots.read(2):
        parameters = slots.read(start[1])
        salt, commitment, sealed = slots.read(24), slots.read(32), slots.read(key_bytes + TAG)
        if (start[0], kind) == (1, "key"):
            key = bytes.fromhex(secret)
        elif (start[0], kind) == (2, "passphrase"):
            key = input_key(secret, parameters.decode(), key_bytes)
        elif (start[0], kind) == (3, "identity"):
            own = of_bech32("age-secret-key-", secret)
            key = agreed(own, parameters, parameters, public_of(own), key_bytes)
        else:
            continue
        aead, nonce, right = payload(name, key, salt, fixed + start + parameters)
        if commitment == right:
            file_key = aead.decrypt(nonce(0), sealed, None)
            assert hmac.compare_digest(tag, header_tag(file_key, covered)), "the header was changed"
            return file_key
    raise AssertionError("no slot opens")

def main(source, sink, what, name, *secrets):
    if name.startswith("slots:"):
        name = name.removeprefix("slots:")
        file_key, salt = os.urandom(SUITES[name][3]), os.urandom(24)
        fixed, header = write_slots(name, file_key, secrets)
        aead, nonce, commitment = payload(name, file_key, salt, fixed)
        sink.write(header + salt + commitment)
        for k, piece in pieces(source, CHUNK):
            sink.write(aead.encrypt(nonce(k), piece, None))
        return
    (secret,) = secrets
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
    context, phc, file_key = b"", "", None
    if not bare:
        header = source.read(13)
        assert header[:11] in (b"crossgrain\x01", b"crossgrain\x02"), "no such file"
        name = next(name for name, suite in SUITES.items() if suite[0] == header[11])
        if header[10] == 1:
            phc = source.read(header[12]).decode()
            context = header + phc.encode()
        else:
            header += source.read(1)
            header += source.read(int.from_bytes(header[12:], "big"))
            context = header[:12]
            file_key = open_slots(name, context, header, source.read(32), kind, secret)
    salt, commitment = source.read(24), source.read(32)
    aead, nonce, right = payload(name, file_key or input_key(secret, phc, SUITES[name][3]), salt, context)
    assert commitment == right, "wrong key"
    for k, piece in pieces(source, CHUNK + TAG):
        assert len(piece) >= TAG, "cut off"
        sink.write(aead.decrypt(nonce(k), piece, None))

if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer, *sys.argv[1:])
