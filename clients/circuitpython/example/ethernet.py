"""A page on port 80, at the address that the console shows.

It needs adafruit_wiznet5k in /lib.
"""

import sys
import time

sys.path.insert(0, "/lib")  # before an older library in the image

import board
import busio
import digitalio
from adafruit_wiznet5k.adafruit_wiznet5k import WIZNET5K
from adafruit_wiznet5k.adafruit_wiznet5k_socketpool import SocketPool

rstn = digitalio.DigitalInOut(board.GP_RSTN)
rstn.switch_to_output(False)
time.sleep(0.001)
rstn.value = True
nic = NIC_LINE
while not nic.link_status:
    time.sleep(0.01)
nic.set_dhcp()
print("http://%s/" % nic.pretty_ip(nic.ip_address))

server = SocketPool(nic).socket()
server.bind((None, 80))
server.listen()
while True:
    client, _ = server.accept()
    client.recv(1024)
    client.send(b"HTTP/1.0 200 OK\r\nContent-Length: 10\r\n\r\nIt works.\n")
    client.close()
