"""The settings of a workload, and the check of those that are lists of numbers."""

from pydantic import AfterValidator, BaseModel, ConfigDict


class WorkloadSettings(BaseModel):
    """The settings of a workload, with defaults and ranges.

    Each field is also an option of the same name, a key of the catalogue, and a part of the deployed configuration.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


def number_list(least: int, most: int, length: int = 10) -> AfterValidator:
    """The check of a setting with different whole numbers, separated by commas."""

    def check(text: str) -> str:
        numbers = text.split(",")
        digits = len(str(most))
        whole = all(each.isascii() and each.isdigit() and len(each) <= digits for each in numbers)
        if not whole or not all(least <= int(each) <= most for each in numbers):
            raise ValueError(f"{text!r} is not a list of numbers from {least} to {most}; separate them with commas")
        if len(set(map(int, numbers))) < len(numbers) or len(numbers) > length:
            raise ValueError(f"{text!r} has a number twice, or more than {length}")
        return text

    return AfterValidator(check)


def each_number(text: str) -> list[int]:
    """The numbers of a setting that `number_list` has checked."""
    return [int(part) for part in text.split(",")]
