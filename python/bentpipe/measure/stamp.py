"""The packets of STAMP, the Simple Two-Way Active Measurement Protocol (RFC 8762, RFC 8972).

Times are in nanoseconds since the epoch. With a key packets are authenticated: HMAC-SHA-256, cut to
16 bytes, over the preceding bytes (RFC 8762 section 4.4). A packet is padded by an Extra Padding
TLV (RFC 8972 section 4.1), followed by an HMAC TLV if there is a key (section 4.8).

>>> sent = Probe(sequence=7, time_ns=1_700_000_000_123_456_789, session=3)
>>> Probe.read(sent.packed(b"secret", size=200), b"secret") == sent
True
>>> len(sent.packed(None)), len(sent.packed(b"secret")), len(sent.packed(None, size=1000))
(44, 112, 1000)
"""

from __future__ import annotations

import hmac
import struct
from dataclasses import dataclass
from typing import Final, Self

#: Minimum size of a packet without authentication, in bytes.
PLAIN_BYTES: Final = 44
#: Minimum size of an authenticated packet, in bytes.
AUTHENTICATED_BYTES: Final = 112
#: Seconds from the epoch of NTP (1900) to that of Unix (1970).
NTP_EPOCH: Final = 2_208_988_800
#: Error Estimate of an unsynchronised clock: the bit S is 0, the multiplier must not be 0 (RFC 4656
#: section 4.1.2).
UNSYNCHRONISED: Final = 0x3F01

_HEADER: Final = struct.Struct("!IQHH")
_AUTHENTICATED: Final = struct.Struct("!I12xQHH")
_REPLY: Final = struct.Struct("!IQHHQIQH2xB3x")
_AUTHENTICATED_REPLY: Final = struct.Struct("!I12xQHH4xQ8xI12xQH6xB15x")
_TLV: Final = struct.Struct("!BBH")
_PADDING: Final = 1
_HMAC: Final = 8
_DIGEST: Final = 16


class NotStampError(ValueError):
    """Bytes that are not a STAMP packet, or a packet with another key."""


def ntp(time_ns: int) -> int:
    """Returns a time as NTP's 64 bits: seconds since 1900 modulo 2^32, and fractions of 2^-32 s.

    >>> hex(ntp(0)), hex(ntp(500_000_000))
    ('0x83aa7e8000000000', '0x83aa7e8080000000')
    """
    seconds, nanos = divmod(time_ns, 1_000_000_000)
    return ((seconds + NTP_EPOCH) % (1 << 32) << 32) | ((nanos << 32) + 500_000_000) // 1_000_000_000


def of_ntp(bits: int) -> int:
    """Returns the time of NTP's 64 bits, in the years 1970 to 2106.

    >>> of_ntp(ntp(1_700_000_000_123_456_789))
    1700000000123456789
    """
    seconds = ((bits >> 32) - NTP_EPOCH) % (1 << 32)
    return seconds * 1_000_000_000 + ((bits & 0xFFFFFFFF) * 1_000_000_000 + (1 << 31) >> 32)


def error_estimate(error_s: float | None) -> int:
    """Returns the field Error Estimate (RFC 4656 section 4.1.2): the bit S for a synchronised
    clock, then scale and multiplier of 2^-32 s, rounded up. ``None`` stands for an unsynchronised
    clock.

    >>> hex(error_estimate(0.001)), error_s(error_estimate(0.001)) >= 0.001, error_s(UNSYNCHRONISED)
    ('0x8f84', True, None)
    """
    if error_s is None:
        return UNSYNCHRONISED
    units, scale = int(error_s * 2**32) + 1, 0
    while units > 255 and scale < 63:
        units, scale = (units + 1) // 2, scale + 1
    return 0x8000 | scale << 8 | min(units, 255)


def error_s(estimate: int) -> float | None:
    """Returns the error of a clock in seconds; ``None`` for an unsynchronised clock."""
    if not estimate & 0x8000:
        return None
    return (estimate & 0xFF) * 2.0 ** ((estimate >> 8 & 0x3F) - 32)


@dataclass(frozen=True)
class Probe:
    """A probe of a sender. ``session`` is the SSID of RFC 8972."""

    sequence: int
    time_ns: int
    session: int = 0
    error: int = UNSYNCHRONISED

    def packed(self, key: bytes | None, size: int = 0) -> bytes:
        """Returns the packet, padded to ``size`` bytes if it is shorter."""
        fields = (self.sequence, ntp(self.time_ns), self.error, self.session)
        if key is None:
            return _padded(_HEADER.pack(*fields).ljust(PLAIN_BYTES, b"\0"), None, size)
        return _padded(_signed(_AUTHENTICATED.pack(*fields), key), key, size)

    @classmethod
    def read(cls, packet: bytes, key: bytes | None) -> Self:
        """Reads a packet. Raises :class:`NotStampError`."""
        _check(packet, key)
        sequence, time, error, session = (_HEADER if key is None else _AUTHENTICATED).unpack_from(packet)
        return cls(sequence, of_ntp(time), session, error)


@dataclass(frozen=True)
class Reply:
    """A reply of a reflector: its own number and time of sending, the time at which it received the
    probe, and the fields of the probe. ``ttl`` is the hop limit of the probe on arrival; 255 if
    unknown."""

    sequence: int
    time_ns: int
    received_ns: int
    probe: Probe
    error: int = UNSYNCHRONISED
    ttl: int = 255

    def packed(self, key: bytes | None, size: int = 0) -> bytes:
        """Returns the packet, padded to ``size`` bytes if it is shorter."""
        probe = self.probe
        fields = (self.sequence, ntp(self.time_ns), self.error, probe.session, ntp(self.received_ns))
        sent = (probe.sequence, ntp(probe.time_ns), probe.error, self.ttl)
        if key is None:
            return _padded(_REPLY.pack(*fields, *sent), None, size)
        return _padded(_signed(_AUTHENTICATED_REPLY.pack(*fields, *sent), key), key, size)

    @classmethod
    def read(cls, packet: bytes, key: bytes | None) -> Self:
        """Reads a packet. Raises :class:`NotStampError`."""
        _check(packet, key)
        layout = _REPLY if key is None else _AUTHENTICATED_REPLY
        number, time, error, session, received, sequence, sent, probe_error, ttl = layout.unpack_from(packet)
        probe = Probe(sequence, of_ntp(sent), session, probe_error)
        return cls(number, of_ntp(time), of_ntp(received), probe, error, ttl)


def _digest(text: bytes, key: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")[:_DIGEST]


def _signed(fields: bytes, key: bytes) -> bytes:
    head = fields.ljust(AUTHENTICATED_BYTES - _DIGEST, b"\0")
    return head + _digest(head, key)


def _padded(packet: bytes, key: bytes | None, size: int) -> bytes:
    spare = size - len(packet) - _TLV.size
    if key is None:
        return packet if spare < 0 else packet + _TLV.pack(0, _PADDING, spare) + bytes(spare)
    spare -= _TLV.size + _DIGEST
    if spare < 0:
        return packet
    padding = _TLV.pack(0, _PADDING, spare) + bytes(spare)
    return packet + padding + _TLV.pack(0, _HMAC, _DIGEST) + _digest(packet[:4] + padding, key)


def _check(packet: bytes, key: bytes | None) -> None:
    least = PLAIN_BYTES if key is None else AUTHENTICATED_BYTES
    if len(packet) < least:
        raise NotStampError(f"{len(packet)} bytes; allowed: {least} or more")
    if key is None:
        return
    if not hmac.compare_digest(_digest(packet[: least - _DIGEST], key), packet[least - _DIGEST : least]):
        raise NotStampError("its HMAC was made with another key")
    if len(packet) == least:
        return
    tail = len(packet) - _DIGEST
    signed = packet[:4] + packet[least : tail - _TLV.size]
    if tail - _TLV.size < least or not hmac.compare_digest(_digest(signed, key), packet[tail:]):
        raise NotStampError("the HMAC of its extensions was made with another key")
