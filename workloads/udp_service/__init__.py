"""How fast a foreign image answers datagrams."""
