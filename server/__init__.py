"""The PC's side of a workload: its conversations driven over real sockets, and over the simulated LAN."""
