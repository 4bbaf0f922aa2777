"""The PC side of the ping-pong: the protocol without I/O and the TCP server."""
