"""A page on port 80, at the address that the console shows."""

import socket
import time

import network

nic = network.WLAN(network.STA_IF)
nic.active(True)
NIC_LINE
nic.connect("YOUR-NETWORK", "YOUR-PASSWORD")
while not nic.isconnected():
    time.sleep(0.1)
print("http://%s/" % nic.ifconfig()[0])

server = socket.socket()
server.bind(("", 80))
server.listen(1)
while True:
    client, _ = server.accept()
    client.recv(1024)
    client.send(b"HTTP/1.0 200 OK\r\nContent-Length: 10\r\n\r\nIt works.\n")
    client.close()
