"""The mark of all tests of the engine."""

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    """Each test here runs the engine."""
    item.add_marker(pytest.mark.engine)
