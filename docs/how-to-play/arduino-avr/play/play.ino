/* Plays the ping-pong: Arduino's own core and Ethernet library on a Mega 2560, with the W5500's TCP. */
#include <Ethernet.h>
#include <SPI.h>

const IPAddress SERVER(192, 168, 50, 1);
const uint16_t PORT = 5000;
const int CS = 10;

void setup() {
  byte mac[] = {0x02, 0x08, 0xdc, 0x25, 0x60, 0x10};
  Ethernet.init(CS);
  while (!Ethernet.begin(mac)) {  // DHCP; for an address of its own, Ethernet.begin(mac, ip)
    delay(100);
  }
}

/* Until the PC closes, or says something wrong. */
void play(EthernetClient &client) {
  for (uint32_t number = 1;; number += 2) {
    if (!client.print(number)) {
      return;
    }
    const String wanted(number + 1);
    for (size_t got = 0; got < wanted.length();) {
      const int letter = client.read();
      if (letter < 0 && !client.connected()) {
        return;
      }
      if (letter >= 0 && letter != wanted[got++]) {
        return;
      }
    }
  }
}

void loop() {
  EthernetClient client;
  if (client.connect(SERVER, PORT)) {
    play(client);
  }
  client.stop();
  delay(100);
}
