/* Plays the ping-pong: Arduino (earlephilhower's core) on a W5500-EVB-Pico, with TCP (lwIP) on the RP2040. */
#include <W5500lwIP.h>

const IPAddress SERVER(192, 168, 50, 1);
const uint16_t PORT = 5000;
const int CS = 17, RESET = 20, INT = 21;

Wiznet5500lwIP eth(CS, SPI, INT);

void setup() {
  pinMode(RESET, OUTPUT);
  digitalWrite(RESET, LOW);
  delay(1);
  digitalWrite(RESET, HIGH);
  delay(50);
  eth.setSPISpeed(33000000);
  while (!eth.begin()) {  // DHCP; for an address of its own, eth.config(ip, gateway, mask) before it
    delay(100);
  }
  while (!eth.connected()) {
    delay(10);
  }
}

/* Until the PC closes, or says something wrong. */
void play(WiFiClient &client) {
  client.setNoDelay(true);
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
  WiFiClient client;
  if (client.connect(SERVER, PORT)) {
    play(client);
  }
  client.stop();
  delay(100);
}
