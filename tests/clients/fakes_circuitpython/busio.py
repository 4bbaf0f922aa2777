class SPI:
    frequency = 7_812_500

    def __init__(self, clock, MOSI, MISO):
        assert (clock, MOSI, MISO) == (18, 19, 16)
