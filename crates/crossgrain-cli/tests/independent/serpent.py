"""Serpent-256 in EAX and OCB from libgcrypt, for the `cryptography` package has no Serpent."""
import ctypes

SERPENT256, OCB, EAX, RESET, FINALIZE, TAG = 306, 11, 14, 4, 5, 16  # as in gcrypt.h

library = ctypes.CDLL("libgcrypt.so.20")
library.gcry_check_version.restype = ctypes.c_char_p
assert library.gcry_check_version(None), "libgcrypt does not start"

def call(name, *arguments):
    sized = [ctypes.c_size_t(given) if isinstance(given, int) else given for given in arguments]
    error = getattr(library, name)(*sized)
    if error:
        raise ValueError(f"{name} failed with {error & 0xffff}")

class Serpent:
    """As cryptography's classes for AEADs, but without associated data."""

    def __init__(self, mode, key):
        self.mode = mode
        self.handle = ctypes.c_void_p()
        call("gcry_cipher_open", ctypes.byref(self.handle), ctypes.c_int(SERPENT256), ctypes.c_int(mode), ctypes.c_uint(0))
        call("gcry_cipher_setkey", self.handle, key, len(key))

    def run(self, name, nonce, data):
        call("gcry_cipher_ctl", self.handle, ctypes.c_int(RESET), None, 0)
        call("gcry_cipher_setiv", self.handle, nonce, len(nonce))
        if self.mode == OCB:
            call("gcry_cipher_ctl", self.handle, ctypes.c_int(FINALIZE), None, 0)
        out = ctypes.create_string_buffer(len(data))
        call(name, self.handle, out, len(data), data, len(data))
        return out.raw

    def encrypt(self, nonce, data, _):
        sealed = self.run("gcry_cipher_encrypt", nonce, data)
        tag = ctypes.create_string_buffer(TAG)
        call("gcry_cipher_gettag", self.handle, tag, TAG)
        return sealed + tag.raw

    def decrypt(self, nonce, data, _):
        plaintext = self.run("gcry_cipher_decrypt", nonce, data[:-TAG])
        call("gcry_cipher_checktag", self.handle, data[-TAG:], TAG)
        return plaintext
