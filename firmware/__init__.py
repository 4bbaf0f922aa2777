"""Firmware images: the catalogue, obtaining and checking images, and the UF2 format."""
