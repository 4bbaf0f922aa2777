"""Rate at which a foreign image answers datagrams."""
