"""MQTT: how fast a board publishes, how soon it hears, and how soon it is back after a lost broker."""
