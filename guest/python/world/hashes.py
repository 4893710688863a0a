"""hashlib.pbkdf2_hmac, which comes with OpenSSL elsewhere, over hashlib's own hashes."""
import hashlib

DOWN = bytes(x ^ 0x36 for x in range(256))
UP = bytes(x ^ 0x5C for x in range(256))


def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    """PBKDF2 (RFC 8018) with HMAC of the hash."""
    first = hashlib.new(hash_name)
    size, block = first.digest_size, first.block_size
    password, salt = bytes(password), bytes(salt)
    if iterations < 1:
        raise ValueError("iteration value must be greater than 0.")
    dklen = size if dklen is None else dklen
    if not 1 <= dklen <= (2**32 - 1) * size:
        raise ValueError("key length must be greater than 0.")
    if len(password) > block:
        password = hashlib.new(hash_name, password).digest()
    key = password.ljust(block, b"\0")
    inner, outer = hashlib.new(hash_name, key.translate(DOWN)), hashlib.new(hash_name, key.translate(UP))

    def mac(text):
        one, two = inner.copy(), outer.copy()
        one.update(text)
        two.update(one.digest())
        return two.digest()

    out = b""
    number = 1
    while len(out) < dklen:
        last = mac(salt + number.to_bytes(4, "big"))
        folded = int.from_bytes(last, "big")
        for _ in range(iterations - 1):
            last = mac(last)
            folded ^= int.from_bytes(last, "big")
        out += folded.to_bytes(size, "big")
        number += 1
    return out[:dklen]


def prepare():
    if not hasattr(hashlib, "pbkdf2_hmac"):
        hashlib.pbkdf2_hmac = pbkdf2_hmac
