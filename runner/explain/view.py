"""Text of an explained row: sentences, then a table of causes with bars."""

from typing import Final

from rich.console import Console
from rich.table import Table

from portbench.console import new_table
from portbench.results.attribution import CAUSES, GROUPS, Span
from portbench.results.explain import Sentence
from portbench.results.explain.words import count, duration, megahertz, percent
from portbench.runner.explain.report import Explained, byte_gap_us, cache_hit_rate

_MOST_REGISTERS = 6
_BAR: Final = 20
_TITLE: Final = 36
_SHOWN: Final = 0.0005
"""Smaller parts are in `--json`."""
_PS_PER_US: Final = 1e6
_MILLISECONDS_FROM_US: Final = 1e6


def show(explained: Explained, console: Console) -> None:
    row, facts = explained.row, explained.facts
    title = f"{row.name} {row.workload}"
    if row.headline is not None and row.value is not None:
        title += f": {row.value:.4g} {row.headline.unit}"
    _say(explained.sentences, title, console)
    if explained.beside is not None:
        _say(explained.compared, f"and then {explained.beside.name}", console)
    each = f"a {facts.noun} of {facts.spans}" if facts.spans > 1 else facts.noun
    console.print(causes_table(facts.whole, facts.spans, f"Where the time goes, {each}, on average"))
    console.print(_counts(explained), soft_wrap=False)
    stages = list(facts.attribution.stages)
    if stages:
        console.print(_stages(stages))
    if explained.what_if:
        console.print(_what_if(explained))


def _say(sentences: list[Sentence], title: str, console: Console) -> None:
    console.print(title, style="bold", highlight=False)
    if not sentences:
        console.print("  no rule has anything to say", highlight=False)
    for sentence in sentences:
        console.print(f"- {sentence.text}", highlight=False)
    console.print()


def _counts(explained: Explained) -> str:
    facts = explained.facts
    lines = []
    if facts.each("spi_frames"):
        asked, real = explained.row.conditions.spi_hz_asked, facts.attribution.spi_hz
        clock = "" if not real else f" at {megahertz(real)} MHz" + (f" ({megahertz(asked)} asked)" if asked else "")
        gap = byte_gap_us(facts.whole) or 0.0
        lines.append(
            f"SPI: {count(facts.each('spi_frames'))} frames, {count(facts.each('spi_bytes'))} bytes{clock},"
            f" {duration(gap * 1e6)} between bytes"
        )
        registers = sorted(facts.whole.registers.items(), key=lambda each: (-each[1], each[0]))[:_MOST_REGISTERS]
        lines.append("  " + ", ".join(f"{name} {count(n / facts.spans)}" for name, n in registers))
    hits = cache_hit_rate(facts.whole)
    if hits is not None:
        flash = facts.flash_share
        lines.append(
            f"flash cache: {100 * hits:.2f} % of {count(facts.each('cache_accesses'))} accesses hit"
            + (
                ""
                if flash is None
                else f"; {percent(flash)} of {count(facts.each('instructions'))} instructions from flash"
            )
        )
    taken = facts.whole.interrupts
    if taken:
        lines.append(
            "interrupts: " + ", ".join(f"{name} {count(n / facts.spans)}" for name, n in sorted(taken.items()))
        )
    return "\n".join(lines) + "\n"


def _stages(stages: list[Span]) -> Table:
    table = new_table(
        ("stage", "ms", "most of it"), title="The way to ready", right=("ms",), folding=("stage", "most of it")
    )
    for stage in stages:
        most = sorted(stage.causes_ps.items(), key=lambda each: (-each[1], each[0]))[:2]
        told = "; ".join(f"{percent(stage.share(name))} {_full_title(name)}" for name, _ in most)
        table.add_row(stage.name, f"{stage.duration_ps / 1e9:.1f}", told)
    return table


def _full_title(name: str) -> str:
    cause = CAUSES[name]
    return (
        cause.title
        if cause.group in ("wait", "wifi", "network", "unnamed", "usb")
        else f"{GROUPS[cause.group].title}: {cause.title}"
    )


def _what_if(explained: Explained) -> Table:
    headline = explained.row.headline
    unit = "" if headline is None else headline.unit
    table = new_table(
        ("change", unit, "times"),
        title="What if (run so, never ranked)",
        right=(unit, "times"),
        folding=("change",),
    )
    for each in explained.what_if:
        table.add_row(each.title, f"{each.value:.4g}", f"{each.times:.2f}x")
    return table


def causes_table(span: Span, spans: int, title: str) -> Table:
    """The causes of an average of `spans` intervals, with a bar for each group."""
    total_us = span.duration_ps / spans / _PS_PER_US
    unit, size = ("ms", 1e3) if total_us >= _MILLISECONDS_FROM_US else ("us", 1.0)

    def amount(ps: int) -> str:
        return f"{ps / spans / _PS_PER_US / size:.2f}"

    def percent(share: float) -> str:
        return f"{100 * share:.1f} %"

    table = new_table(("cause", unit, "share", ""), title=title, right=(unit, "share"), folding=("cause",))
    table.columns[0].width, table.columns[-1].width = _TITLE, _BAR
    for group in GROUPS.values():
        causes = [cause for cause in CAUSES.values() if cause.group == group.name and span.ps(cause.name)]
        if not causes:
            continue
        share = span.share(group.name)
        table.add_row(group.title, amount(span.ps(group.name)), percent(share), "#" * round(_BAR * share))
        for cause in causes:
            if cause.title != group.title and span.share(cause.name) >= _SHOWN:
                part = percent(span.share(cause.name))
                table.add_row(f"  {cause.title}", amount(span.ps(cause.name)), part, "", style="dim")
    table.add_section()
    table.add_row("all", amount(span.duration_ps), percent(1.0), f"{percent(span.named_share)} named")
    return table
