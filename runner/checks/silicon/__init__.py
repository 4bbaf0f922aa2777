"""How true the emulated board is: what others published of real boards, measured again.

`results/silicon.toml` has the figures; `portbench check silicon` runs them, and writes docs/evidence/silicon.md.
"""
