"""A program that tells of a row that it does not store, and leaves a folder and a process."""

import subprocess
import sys
import tempfile

tempfile.mkdtemp()
print("[1/1] measured nothing", flush=True)
subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True)
