#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seals and opens records as in docs/design/sealing.md, with other libraries than the product's.

seal_oracle.py open SECRET SEALED: prints the content. seal_oracle.py seal COLLECTOR_SECRET SESSION_SECRET TEXT:
prints a lagwatch.Sealed of a report's place with the label that tests expect. All but TEXT in hexadecimal digits.
Exits 77 where the library `cryptography` is not installed.
"""

import struct
import sys
import zlib

try:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
except ImportError:
    sys.exit(77)

INFO = b"lagwatch sealed record 1"
VARINT, FIXED64, BYTES = 0, 1, 2


def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def write_varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def read_message(data):
    fields, at = {}, 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == VARINT:
            value, at = read_varint(data, at)
        elif key & 7 == FIXED64:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        else:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
        fields[key >> 3] = value
    return fields


def write_field(number, value):
    if isinstance(value, bytes):
        return write_varint(number << 3 | BYTES) + write_varint(len(value)) + value
    return write_varint(number << 3 | VARINT) + write_varint(value)


def public_bytes(secret):
    return secret.public_key().public_bytes_raw()


def cipher(own, other, session, collector):
    shared = own.exchange(X25519PublicKey.from_public_bytes(other))
    key = HKDF(algorithm=hashes.SHA256(), length=32, salt=session + collector, info=INFO).derive(shared)
    return AESGCM(key)


def additional_data(record_type, record_id, cause, priority):
    return struct.pack("<I16sQI", record_type, record_id, cause, priority)


def open_sealed(secret, sealed):
    fields = read_message(sealed)
    aead = cipher(secret, fields[5], fields[5], public_bytes(secret))
    additional = additional_data(fields[1], fields[2], fields.get(3, 0), fields.get(4, 0))
    return zlib.decompress(aead.decrypt(fields[6], fields[7], additional), wbits=-15)


def seal(collector_secret, session_secret, text):
    record_type, record_id, cause, priority = 1, bytes(range(1, 17)), 0x1122334455667788, 3
    session, collector = public_bytes(session_secret), public_bytes(collector_secret)
    nonce = b"\xaa\xbb\xcc\xdd" + struct.pack("<Q", 7)
    deflater = zlib.compressobj(wbits=-15)
    deflated = deflater.compress(text) + deflater.flush()
    sealed = cipher(session_secret, collector, session, collector).encrypt(
        nonce, deflated, additional_data(record_type, record_id, cause, priority))
    return (write_field(1, record_type) + write_field(2, record_id) + write_varint(3 << 3 | FIXED64) +
            struct.pack("<Q", cause) + write_field(4, priority) + write_field(5, session) + write_field(6, nonce) +
            write_field(7, sealed))


def secret_of(digits):
    return X25519PrivateKey.from_private_bytes(bytes.fromhex(digits))


def main():
    if sys.argv[1] == "open":
        sys.stdout.buffer.write(open_sealed(secret_of(sys.argv[2]), bytes.fromhex(sys.argv[3])))
    else:
        print(seal(secret_of(sys.argv[2]), secret_of(sys.argv[3]), sys.argv[4].encode()).hex())


if __name__ == "__main__":
    main()
