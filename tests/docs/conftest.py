"""Fixtures of the command line and of a browser, for the commands and the site of the pages."""

from tests.page.conftest import look as look
from tests.page.conftest import packages as packages
from tests.runner.conftest import invoke as invoke
