"""The board: it executes, sleeps, or serves USB."""

import statistics

from portbench.results.attribution import CAUSES
from portbench.results.explain.facts import Facts, Sentence, rule, rule_of_share
from portbench.results.explain.words import count, duration, part, percent


@rule_of_share("sleeping until a timer, with no frame unread, takes at least 20 % of the time", 0.2, "wait_timer")
def asleep(facts: Facts, share: float) -> Sentence | None:
    """The board sleeps until a timer, and nothing has come that it could read."""
    text = f"the board sleeps until a timer for {part(facts.each_ps('wait_timer'), facts.each_ps())} of a {facts.noun}"
    return Sentence(text)


@rule_of_share(
    "sleeping until the network chip's interrupt, with no frame unread, takes at least 20 % of the time",
    0.2,
    "wait_chip",
)
def asleep_for_chip(facts: Facts, share: float) -> Sentence | None:
    """The board sleeps until its network chip says that something has come."""
    slept = part(facts.each_ps("wait_chip"), facts.each_ps())
    text = f"the board sleeps until its network chip has something for it for {slept} of a {facts.noun}"
    return Sentence(text)


@rule_of_share("executing the interpreter and C code takes at least 40 % of the time", 0.4, "code_run")
def executing(facts: Facts, share: float) -> Sentence | None:
    """The board executes, and waits for nothing."""
    instructions = facts.each("instructions")
    if not instructions:
        return None
    text = (
        f"{percent(share)} of the time the interpreter and C code execute, and wait for nothing:"
        f" {count(instructions)} instructions a {facts.noun}"
    )
    return Sentence(text, figures={"instructions": instructions})


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


_ONE_A_POLL = 0.9


@rule_of_share("frames lie unread until a timer polls the chip for at least 20 % of the time", 0.2, "wait_poll")
def unread_until_poll(facts: Facts, share: float) -> Sentence | None:
    """An answer lies in the chip until a timer makes the driver look."""
    waits_ps, each_ps = facts.each_ps("wait_poll"), facts.each_ps()
    text = f"a frame lies unread in the chip for {part(waits_ps, each_ps)} of a {facts.noun}, until a timer's poll"
    period_ps = facts.period_ps
    # One span a poll, or the distance of the spans says nothing about the poll's.
    if period_ps is not None and _ONE_A_POLL * period_ps <= waits_ps <= period_ps:
        # To two digits: spans begin at no fixed time after a poll.
        text += f" about every {duration(float(f'{period_ps:.2g}'))}"
    if facts.lacks_intn:
        text += ": INTn is not connected"
    return Sentence(text, figures={"wait_us": waits_ps / 1e6})


_LOOK = "look"
_LOOK_LEAST_PS = 100_000_000_000


@rule("looks for messages that find none; they last at least 100 ms each")
def look_blocks(facts: Facts) -> Sentence | None:
    """The library waits for its socket's time-out before it says that there is nothing."""
    spans = facts.attribution.spans
    looks = [ps for name, ps in zip(spans.names, spans.duration_ps, strict=True) if name == _LOOK]
    if not looks or (each_ps := statistics.median(looks)) < _LOOK_LEAST_PS:
        return None
    text = (
        f"each look for messages keeps the program for {duration(each_ps)} while none is there: the library waits for"
        " its time-out, so a shorter one would return sooner"
    )
    return Sentence(text, figures={"look_us": each_ps / 1e6})


@rule_of_share("the USB interrupt and sleeps that USB ends take at least 5 % of the time", 0.05, "usb", "wait_usb")
def usb(facts: Facts, share: float) -> Sentence | None:
    """USB takes time from the workload."""
    return Sentence(f"{percent(share)} of the time goes to USB")
