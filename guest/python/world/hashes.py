"""hashlib.pbkdf2_hmac and scrypt, which come with OpenSSL elsewhere, over hashlib's own hashes."""
import hashlib

import _cloche

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


def scrypt(password, *, salt, n, r, p, maxmem=0, dklen=64):
    """scrypt (RFC 7914). maxmem is 32 MiB where it is 0, as elsewhere."""
    if n < 2 or n & (n - 1):
        raise ValueError("n must be a power of 2.")
    if r < 1 or p < 1 or r * p >= 2**30:
        raise ValueError("r and p must be positive, and r * p less than 2**30.")
    if dklen < 1 or dklen > 2**31 - 1:
        raise ValueError("dklen must be greater than 0, and at most 2**31 - 1.")
    if maxmem < 0 or maxmem > 2**31 - 1:
        raise ValueError("maxmem must be from 0 to 2**31 - 1.")
    if 128 * r * (n + p + 2) > (maxmem or 32 << 20):
        raise ValueError(f"memory limit exceeded: n={n}, r={r}, p={p} need maxmem={128 * r * (n + p + 2)}")
    blocks = pbkdf2_hmac("sha256", password, salt, 1, p * 128 * r)
    return pbkdf2_hmac("sha256", password, _cloche.scrypt_mix(blocks, n, r), 1, dklen)


def prepare():
    for made in (pbkdf2_hmac, scrypt):
        if not hasattr(hashlib, made.__name__):
            setattr(hashlib, made.__name__, made)
