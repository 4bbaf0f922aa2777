"""Boards on USB, real and emulated: discovery, boot loader, flashing, files and runs."""

from portbench.boards.usb.board import UsbBoard
from portbench.boards.usb.discovery import AttachedBoard, attached, attached_selectors, listing

__all__ = ["AttachedBoard", "UsbBoard", "attached", "attached_selectors", "listing"]
