"""A page on port 80, at the address that the console shows."""

import socket

import network
from machine import SPI, Pin

nic = NIC_LINE
nic.active(True)
nic.ifconfig("dhcp")
print("http://%s/" % nic.ifconfig()[0])

server = socket.socket()
server.bind(("", 80))
server.listen(1)
while True:
    client, _ = server.accept()
    client.recv(1024)
    client.send(b"HTTP/1.0 200 OK\r\nContent-Length: 10\r\n\r\nIt works.\n")
    client.close()
