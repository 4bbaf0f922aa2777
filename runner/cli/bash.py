"""Completion in bash, which splits `--runtime=mi` into three words; click expects one."""

from __future__ import annotations

from click.shell_completion import BashComplete, add_completion_class


class Bash(BashComplete):
    """Joins an option and its value again."""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        if incomplete == "=" and args and args[-1].startswith("--"):
            return args[:-1], f"{args[-1]}="
        if len(args) > 1 and args[-1] == "=" and args[-2].startswith("--"):
            return args[:-2], f"{args[-2]}={incomplete}"
        return args, incomplete


add_completion_class(Bash)
