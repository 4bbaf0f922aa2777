"""Behaviour of the faked hardware and network in this test, and a record of what the client did."""

import json

with open("scenario.json") as file:
    SCENARIO = json.load(file)


def record(what):
    print("FAKE", json.dumps(what))
