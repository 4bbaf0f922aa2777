class DigitalInOut:
    def __init__(self, pin):
        self.pin = pin
        self.value = True

    def switch_to_output(self, value=False):
        self.value = value
