"""How true the emulated board is: figures that others published of real boards, measured again."""
