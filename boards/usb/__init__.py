"""Boards on USB, real ones and those of a desk: discovery, boot loader, flashing, files and runs."""
