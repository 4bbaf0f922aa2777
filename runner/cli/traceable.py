"""What can go wrong with a row that is run by itself, each told in one line."""

from __future__ import annotations

from portbench.boards import BoardError
from portbench.clients import DeploymentError
from portbench.firmware.catalogue import CatalogueError
from portbench.firmware.hash_lock import HashLockError
from portbench.firmware.images import ImageError
from portbench.firmware.native_config import NativeConfigError
from portbench.firmware.uf2 import Uf2Error
from portbench.runner.client_result import RunFailed

FAULTS = (
    BoardError,
    CatalogueError,
    DeploymentError,
    HashLockError,
    ImageError,
    NativeConfigError,
    RunFailed,
    Uf2Error,
)
