class Pin:
    def __init__(self, id):
        self.id = id


class SPI:
    hz = 20_000_000

    def __init__(self, id, hz=None, **pins):
        if hz is not None:
            SPI.hz = hz

    def __str__(self):
        return "SPI(0, baudrate=%d, polarity=0, phase=0, bits=8, sck=18, mosi=19, miso=16)" % SPI.hz
