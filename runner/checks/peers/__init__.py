"""Other people's test suites on the emulated board: their verdicts, counted, and compared with the last record."""
