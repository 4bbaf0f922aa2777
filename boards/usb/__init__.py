"""Boards on USB, real and emulated: discovery, boot loader, flashing, files and runs."""

from boards.usb.board import UsbBoard
from boards.usb.discovery import AttachedBoard, attached, listing

__all__ = ["AttachedBoard", "UsbBoard", "attached", "listing"]
