"""Addresses, networks and names, and which of them are narrow enough to be trusted with access."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
WIDEST = {4: 16, 6: 48}
"""The shortest prefixes that a trusted network may have: a network of containers, or a site, and not a country."""

_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_HOST_NAME = re.compile(rf"({_LABEL}\.)*(?![0-9]+$){_LABEL}", re.ASCII)
_SOCKET = re.compile(r"unix:(?P<path>/[A-Za-z0-9._/-]{1,100})")
_PLACE = re.compile(r"(\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<four>[0-9.]+)):(?P<port>[0-9]{1,5})", re.ASCII)


def parse_address(text: str) -> Address | None:
    """An IP address; one of IPv4 that is written in IPv6 is the one of IPv4."""
    try:
        parsed = ip_address(text)
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return mapped or parsed


def is_loopback(address: str) -> bool:
    """Whether this IP address is one of this machine's own, also when written as an IPv4 address in IPv6."""
    parsed = parse_address(address)
    return parsed is not None and parsed.is_loopback


def parse_proxy(text: str) -> Network | None:
    """An address or network that may be trusted as a proxy; None for what is none, and for what is too wide."""
    try:
        network = ip_network(text)
    except ValueError:
        return None
    odd = network.is_unspecified or network.is_multicast or _is_mapped(network)
    return None if odd or network.prefixlen < WIDEST[network.version] else network


def is_host_name(text: str) -> bool:
    """A whole DNS name in lower case that is not this machine's own: no pattern, no address, no port."""
    is_own = text == "localhost" or text.endswith(".localhost")
    return len(text) <= 253 and not is_own and _HOST_NAME.fullmatch(text) is not None


def parse_bind(text: str) -> str | tuple[str, int] | None:
    """Where to listen: the path of a Unix socket, or address and port; None for what is neither and for wildcards."""
    if socket := _SOCKET.fullmatch(text):
        path = socket["path"]
        return path if "//" not in path and not {".", "..", ""} & set(path.split("/")[1:]) else None
    place = _PLACE.fullmatch(text)
    address = parse_address(place["six"] or place["four"]) if place else None
    if place is None or address is None or address.is_unspecified or address.is_multicast:
        return None
    port = int(place["port"])
    return (str(address), port) if 0 < port < 65536 else None


def _is_mapped(network: Network) -> bool:
    # A peer's address is compared as one of IPv4, which a network of this kind would never hold.
    return isinstance(network, IPv6Network) and network.network_address.ipv4_mapped is not None
