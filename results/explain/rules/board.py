"""The board: it executes, sleeps, or serves USB."""

from __future__ import annotations

from portbench.results.attribution import CAUSES
from portbench.results.explain.facts import Facts, Sentence, rule
from portbench.results.explain.words import count, duration, part, percent

_ASLEEP_LEAST = 0.2


@rule("sleeping until a timer, with no frame unread, takes at least 20 % of the time")
def asleep(facts: Facts) -> Sentence | None:
    """The board sleeps until a timer, and nothing has come that it could read."""
    share = facts.share("wait_timer")
    if share < _ASLEEP_LEAST:
        return None
    text = f"the board sleeps until a timer for {part(facts.each_ps('wait_timer'), facts.each_ps())} of a {facts.noun}"
    return Sentence(text, share, ("wait_timer",))


_ASLEEP_FOR_CHIP_LEAST = 0.2


@rule("sleeping until the network chip's interrupt, with no frame unread, takes at least 20 % of the time")
def asleep_for_chip(facts: Facts) -> Sentence | None:
    """The board sleeps until its network chip says that something has come."""
    share = facts.share("wait_chip")
    if share < _ASLEEP_FOR_CHIP_LEAST:
        return None
    slept = part(facts.each_ps("wait_chip"), facts.each_ps())
    text = f"the board sleeps until its network chip has something for it for {slept} of a {facts.noun}"
    return Sentence(text, share, ("wait_chip",))


_EXECUTING_LEAST = 0.4


@rule("executing the interpreter and C code takes at least 40 % of the time")
def executing(facts: Facts) -> Sentence | None:
    """The board executes, and waits for nothing."""
    share = facts.share("code_run")
    instructions = facts.each("instructions")
    if share < _EXECUTING_LEAST or not instructions:
        return None
    text = (
        f"{percent(share)} of the time the interpreter and C code execute, and wait for nothing:"
        f" {count(instructions)} instructions a {facts.noun}"
    )
    return Sentence(text, share, ("code_run",), {"instructions": instructions})


_READY_LEAST = 0.5


@rule("the way to ready has stages, and one cause other than execution takes at least half of the longest of them")
def ready(facts: Facts) -> Sentence | None:
    """The parts of the time until ready."""
    stages = list(facts.attribution.stages)
    if len(stages) < 2:
        return None
    whole_ps = sum(stage.duration_ps for stage in stages)
    longest = max(stages, key=lambda stage: stage.duration_ps)
    name, ps = max(longest.causes_ps.items(), key=lambda each: each[1])
    if name in ("code_run", "unnamed") or ps < _READY_LEAST * longest.duration_ps:
        return None
    text = (
        f"ready {duration(whole_ps)} after power-up, {duration(longest.duration_ps)} of it in stage {longest.name!r};"
        f" {percent(longest.share(name))} of that: {CAUSES[name].title}"
    )
    return Sentence(text, None, (name,), {"ready_us": whole_ps / 1e6})


_UNREAD_UNTIL_POLL_LEAST = 0.2
_ONE_A_POLL = 0.9


@rule("frames lie unread until a timer polls the chip for at least 20 % of the time")
def unread_until_poll(facts: Facts) -> Sentence | None:
    """An answer lies in the chip until a timer makes the driver look."""
    share = facts.share("wait_poll")
    if share < _UNREAD_UNTIL_POLL_LEAST:
        return None
    waits_ps, each_ps = facts.each_ps("wait_poll"), facts.each_ps()
    text = f"a frame lies unread in the chip for {part(waits_ps, each_ps)} of a {facts.noun}, until a timer's poll"
    period_ps = facts.period_ps
    # One span a poll, or the distance of the spans says nothing about the poll's.
    if period_ps is not None and _ONE_A_POLL * period_ps <= waits_ps <= period_ps:
        # To two digits: spans begin at no fixed time after a poll.
        text += f" about every {duration(float(f'{period_ps:.2g}'))}"
    if facts.lacks_intn:
        text += ": INTn is not connected"
    return Sentence(text, share, ("wait_poll",), {"wait_us": waits_ps / 1e6})


_USB_LEAST = 0.05
_USB_CAUSES = ("usb", "wait_usb")


@rule("the USB interrupt and sleeps that USB ends take at least 5 % of the time")
def usb(facts: Facts) -> Sentence | None:
    """USB takes time from the workload."""
    share = facts.share(*_USB_CAUSES)
    if share < _USB_LEAST:
        return None
    return Sentence(f"{percent(share)} of the time goes to USB", share, _USB_CAUSES)
