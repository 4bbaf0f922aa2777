"""CircuitPython's network driver on this PC's Python.

It runs in the PC's time: waiting for a simulated cable would only delay the row.
"""

from portbench.boards.kinds import Kind
from portbench.where import Where

KIND = Kind(
    "hosted CircuitPython",
    "portbench.boards.hosted.circuitpython_blinka:HostedCircuitPython",
    where=Where.HOSTED,
    words=("package:adafruit-circuitpython-wiznet5k",),
    arguments=lambda wanted: {"turnaround_us": wanted.surroundings["turnaround_us"]},
)
