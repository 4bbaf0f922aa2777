"""The command `portbench`, and `python -m portbench`."""

import os
import signal


def main() -> None:
    """Ctrl-C ends the command without a traceback, even while it imports itself."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # ignored under nohup
    if heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Looking for plugins of pydantic, of which there are none, takes time at each start.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from portbench.runner import cli

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    cli.main()


if __name__ == "__main__":
    main()
