"""A page on port 80, at the address that the console shows."""

import socketpool
import wifi

wifi.radio.connect("YOUR-NETWORK", "YOUR-PASSWORD")
print("http://%s/" % wifi.radio.ipv4_address)

buffer = bytearray(1024)
server = socketpool.SocketPool(wifi.radio).socket()
server.bind(("0.0.0.0", 80))
server.listen(1)
while True:
    client, _ = server.accept()
    client.recv_into(buffer)
    client.send(b"HTTP/1.0 200 OK\r\nContent-Length: 10\r\n\r\nIt works.\n")
    client.close()
