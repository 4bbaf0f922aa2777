"""Stand-in for psutil in a page, where there are no other processes and no drives."""


def pid_exists(pid: int) -> bool:
    return False


def disk_partitions(all: bool = False) -> list[object]:
    return []
