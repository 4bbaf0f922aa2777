"""TLS: how long a handshake of a board takes, stage by stage, and how fast it sends and takes under the cipher."""
