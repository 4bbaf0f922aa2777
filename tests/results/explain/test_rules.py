"""Each rule, with an attribution that it must speak of and others of which it must not."""

from typing import Any

import pytest

from portbench.results.attribution import Function, Spans
from portbench.results.explain import RULES, Facts, compared, explained
from portbench.results.explain.rules import tls
from portbench.results.model import Row
from tests.results.explain.synthetic import row

_STAGES = Spans(
    names=["boot", "link"],
    start_ps=[0, 300_000_000_000],
    duration_ps=[300_000_000_000, 1_500_000_000_000],
    reported_us=[None, None],
    causes_ps={"code_run": [300_000_000_000, 300_000_000_000], "link": [0, 1_200_000_000_000]},
)
_WORKING_STAGES = _STAGES.model_copy(
    update={"causes_ps": {"code_run": [300_000_000_000, 900_000_000_000], "link": [0, 600_000_000_000]}}
)
_SHAKE = ("handshake",)
_ECP, _SHA, _X509 = (
    Function(name=name, address="0x10050000", bytes=900, misses=misses, known_by="elf")
    for name, misses in (("ecp_double_jac", 600), ("mbedtls_sha256_finish", 50), ("mbedtls_x509_crt_parse_der", 30))
)
_LOOP = Function(name="mp_execute_bytecode", address="0x1001bfaa", bytes=4454, known_by="image")
_RECEIVE = Function(name="tcp_receive", address="0x10042004", bytes=900, misses=180, known_by="elf")
_PAGES = {"0x10042000": 900, **{f"0x1005{page:x}000": 100 for page in range(10)}}

FIRES: dict[str, Row] = {
    "handshake_computes": row({"code_run": 1_200_000, "code_miss": 200_000, "pc": 400, "spi_bits": 3000}, names=_SHAKE),
    "handshake_waits": row({"code_run": 800, "air": 100, "power_save": 100}, names=_SHAKE),
    "handshake_stages": row(
        {"code_run": 1000}, names=_SHAKE, figures={"certificate_us": 445_000, "key_exchange_us": 876_000}
    ),
    "resumption": row({"code_run": 1_000_000}, names=_SHAKE, figures={"certificate_and_key_exchange_us": 900_000}),
    "handshake_code": row({"code_run": 1000}, names=_SHAKE, pages=_PAGES, functions=[_ECP, _SHA, _X509, _RECEIVE]),
    "unread_until_poll": row({"wait_poll": 59_600, "code_run": 2600}, every_us=64_000, intn=False),
    "flash_misses": row(
        {"code_miss": 510, "code_run": 490},
        counts={"cache_misses": 2394, "cache_accesses": 18_954, "instructions": 100, "flash_instructions": 66},
        pages=_PAGES,
        functions=[_LOOP.model_copy(update={"misses": 1000}), _RECEIVE],
    ),
    "slow_flash": row({"code_miss": 300, "code_run": 700}, chip={"clk_sys_hz": 150_000_000, "flash_hz": 50_000_000}),
    "float_units": row({"code_run": 9}, counts={"instructions": 1000, "fpu_instructions": 90, "dcp_instructions": 10}),
    "byte_by_byte": row({"gap_run": 230, "spi_bits": 4, "code_run": 600}, counts={"spi_frames": 1, "spi_bytes": 4}),
    "slow_spi": row({"spi_bits": 400, "code_run": 600}, spi_hz=2_000_000),
    "delayed_ack": row({"delayed_ack": 40_000, "code_run": 1000}),
    "network_bound": row({"pc": 198, "wire_to_pc": 5.5, "wire_to_board": 5.5, "code_run": 9}),
    "network_hidden": row({"code_run": 33_395}, counts={"hidden_ps": 211_520_000, "instructions": 2}),
    "executing": row({"code_run": 540, "gap_run": 460}, counts={"instructions": 2_157_338}),
    "polled_register": row(
        {"spi_bits": 300, "code_run": 700},
        counts={"spi_frames": 58, "spi_bytes": 232},
        registers={"S0_RX_RSR read": 22, "S0_SR read": 12, "S0_CR write": 30},
    ),
    "asleep": row({"wait_timer": 250, "code_run": 750}),
    "asleep_for_chip": row({"wait_chip": 250, "code_run": 750}),
    "wifi_bound": row({"access_point": 4300, "air": 300, "radio": 300, "pc": 200, "wire_to_pc": 6, "code_run": 900}),
    "power_save": row({"power_save": 51_000, "code_run": 9000}),
    "gspi": row(
        {"spi_bits": 90, "gap_run": 50, "gap_miss": 10, "code_run": 850},
        counts={"spi_frames": 7.7, "spi_bytes": 254},
        registers={"WLAN frame read": 1, "WLAN frame write": 2, "SPI_STATUS read": 3},
    ),
    "look_blocks": row({"code_run": 1_000_000}, names=("echo", *("look",) * 3)),
    "usb": row({"usb": 60, "code_run": 940}),
    "ready": row({"code_run": 1}, stages=_STAGES),
}
"""The sentence about each is in outputs/explained.json."""

SILENT: dict[str, list[Row]] = {
    "handshake_computes": [
        row({"code_run": 1_200_000}),  # another interval
        row({"code_run": 400, "air": 600}, names=_SHAKE),
    ],
    "handshake_waits": [row({"code_run": 800, "pc": 200}), row({"code_run": 1_000_000, "pc": 400}, names=_SHAKE)],
    "handshake_stages": [
        row({"code_run": 1000}, names=_SHAKE, figures={"certificate_and_key_exchange_us": 500}),
        row({"code_run": 1000}, figures={"certificate_us": 445, "key_exchange_us": 500}),
    ],
    "resumption": [
        row({"code_run": 1000}, names=_SHAKE, figures={"certificate_and_key_exchange_us": 130}),
        row({"code_run": 1000}, names=_SHAKE),
        row({"code_run": 1000}, figures={"certificate_and_key_exchange_us": 900}),
    ],
    "handshake_code": [
        row({"code_run": 1000}, pages=_PAGES, functions=[_ECP]),
        row({"code_run": 1000}, names=_SHAKE, pages=_PAGES, functions=[_LOOP, _RECEIVE]),  # of others
        row({"code_run": 1000}, names=_SHAKE, functions=[_ECP]),  # without misses
    ],
    "unread_until_poll": [row({"wait_poll": 19, "code_run": 81}, intn=False), row({"wait_intn": 90, "code_run": 10})],
    "flash_misses": [
        row({"code_miss": 24, "code_run": 76}, counts={"cache_misses": 2, "cache_accesses": 9}),
        row({"code_wait": 90, "code_run": 10}, counts={"cache_misses": 2, "cache_accesses": 9}),
    ],
    "slow_flash": [
        row({"code_miss": 200, "code_run": 800}, chip={"clk_sys_hz": 150_000_000, "flash_hz": 50_000_000}),  # too few
        row({"code_miss": 900, "code_run": 100}, chip={"clk_sys_hz": 150_000_000, "flash_hz": 75_000_000}),
        row({"code_miss": 900, "code_run": 100}, chip={"clk_sys_hz": 280_000_000, "flash_hz": 93_333_333}),  # 133 MHz
        row({"code_miss": 900, "code_run": 100}),  # not known
    ],
    "float_units": [
        row({"code_run": 9}, counts={"instructions": 10_000, "fpu_instructions": 3, "dcp_instructions": 1}),
        row({"code_run": 9}, counts={"instructions": 1000}),
    ],
    "byte_by_byte": [
        # The same time in gaps, but of frames of two bytes, or of bytes that are slow themselves.
        row({"gap_run": 230, "spi_bits": 4, "code_run": 600}, counts={"spi_frames": 2, "spi_bytes": 4}),
        row({"gap_run": 230, "spi_bits": 100, "code_run": 600}, counts={"spi_frames": 1, "spi_bytes": 4}),
        row({"gap_run": 10, "spi_bits": 0.1, "code_run": 600}, counts={"spi_frames": 1, "spi_bytes": 4}),
        row({"gap_run": 100}),
        # Of a PIO program that takes whole frames.
        row(
            {"gap_run": 230, "spi_bits": 4, "code_run": 600},
            counts={"spi_frames": 1, "spi_bytes": 4},
            registers={"WLAN frame read": 1},
        ),
    ],
    "slow_spi": [
        row({"spi_bits": 100, "code_run": 900}, spi_hz=2_000_000),
        row({"spi_bits": 900, "code_run": 100}, spi_hz=33_300_000),
        row({"spi_bits": 900, "code_run": 100}, spi_hz=None),
    ],
    "delayed_ack": [row({"delayed_ack": 19, "code_run": 81}), row({"pc": 90, "code_run": 10})],
    "network_bound": [row({"pc": 40, "wire_to_pc": 9, "code_run": 51}), row({"wait_poll": 90, "code_run": 10})],
    "network_hidden": [
        row({"code_run": 900, "pc": 100}, counts={"hidden_ps": 200_000_000}),
        row({"code_run": 900}, counts={"hidden_ps": 200_000_000}, names=("request",) * 5),
        row({"code_run": 900}, counts={"hidden_ps": 200_000_000}, names=("up_256", "down_256")),
        row({"code_run": 900}),
    ],
    "executing": [row({"code_run": 39, "gap_run": 61}, counts={"instructions": 9}), row({"code_run": 90})],
    "polled_register": [
        row({"spi_bits": 300, "code_run": 700}, counts={"spi_frames": 58}, registers={"S0_SR read": 17}),
        row({"spi_bits": 300, "code_run": 700}, counts={"spi_frames": 9}, registers={"S0_SR read": 7}),
        row({"spi_bits": 300, "code_run": 700}, counts={"spi_frames": 58}, registers={"S0 TX buffer write": 50}),
        row({"spi_bits": 10, "code_run": 990}, counts={"spi_frames": 58}, registers={"S0_SR read": 50}),
    ],
    "asleep": [row({"wait_timer": 19, "code_run": 81}), row({"wait_poll": 90, "code_run": 10})],
    "asleep_for_chip": [row({"wait_chip": 19, "code_run": 81}), row({"wait_intn": 90, "code_run": 10})],
    "wifi_bound": [row({"access_point": 390, "code_run": 610}), row({"power_save": 900, "pc": 100})],
    "power_save": [row({"power_save": 9, "code_run": 91}), row({"access_point": 90, "code_run": 10})],
    "gspi": [
        row({"spi_bits": 90, "gap_run": 60, "code_run": 850}, registers={"S0_SR read": 3}),
        row({"spi_bits": 50, "gap_run": 40, "code_run": 910}, registers={"WLAN frame read": 3}),
    ],
    "look_blocks": [row({"code_run": 1_000_000}), row({"code_run": 99_000}, names=("look",) * 3)],
    "usb": [row({"usb": 4, "code_run": 96})],
    "ready": [row({"code_run": 1}, stages=_WORKING_STAGES), row({"code_run": 1})],
}

_LOOPS = ("method_call", "int_add", "viper")
_COUNTS = {"instructions": 1000, "cache_accesses": 150}


def _interpreter(flash: int, us: float, accesses: int = 150) -> Row:
    counts = {"instructions": 1000, "flash_instructions": flash, "cache_accesses": accesses}
    return row({"code_run": us}, counts=counts, names=_LOOPS)


def _missing(us: float, misses: int) -> Row:
    return row({"code_miss": us, "code_run": 600}, counts={"cache_misses": misses}, names=("loop",))


def _floats(instructions: int, fpu: int = 0) -> Row:
    return row({"code_run": 600}, counts={"instructions": instructions, "fpu_instructions": fpu}, names=("loop",))


BESIDE: dict[str, tuple[Row, Row]] = {
    "other_misses": (_missing(400, 1000), _missing(300, 1500)),
    "float_units_beside": (_floats(5000), _floats(1000, 60)),
    "moved_to_flash": (_interpreter(120, 100), _interpreter(930, 187, 640)),
}
SILENT_BESIDE: dict[str, list[tuple[Row, Row]]] = {
    "other_misses": [
        (_missing(400, 1000), _missing(360, 1000)),  # much the same
        (_missing(40, 100), _missing(20, 100)),  # hardly any
        (_missing(400, 1000), _floats(1000)),
    ],
    "float_units_beside": [(_floats(5000), _floats(5000)), (_floats(900, 50), _floats(1000, 60))],
    "moved_to_flash": [
        (_interpreter(700, 100), _interpreter(930, 187)),  # slower, and not for that
        (_interpreter(120, 100), row({"code_run": 100}, counts=_COUNTS)),  # nothing in common
    ],
}


def test_a_faster_clock_gains_on_its_share_and_a_slower_one_nothing() -> None:
    facts = Facts.of(row({"spi_bits": 400, "code_run": 600}))
    assert facts is not None
    gains = [facts.gain(hz, 20e6, "spi_bits") for hz in (5e6, 10e6, 20e6, 40e6)]
    assert gains == pytest.approx([1000 / 700, 1.25, 1, 1])


def _said(rule: str, of: Row) -> list[str]:
    return [sentence.text for sentence in explained(of) if sentence.rule == rule]


def test_every_rule_has_its_cases_and_states_its_threshold() -> None:
    assert FIRES.keys() | BESIDE.keys() == RULES.keys()
    assert FIRES.keys() == SILENT.keys()
    assert BESIDE.keys() == SILENT_BESIDE.keys()
    assert all(rule.fires for rule in RULES.values())


@pytest.mark.parametrize("rule", FIRES)
def test_a_rule_speaks(rule: str) -> None:
    assert len(_said(rule, FIRES[rule])) == 1


@pytest.mark.parametrize(("rule", "of"), [(rule, of) for rule, rows in SILENT.items() for of in rows])
def test_a_rule_says_nothing_rather_than_something_wrong(rule: str, of: Row) -> None:
    assert _said(rule, of) == []


@pytest.mark.parametrize("rule", BESIDE)
def test_a_rule_speaks_of_two_rows(rule: str) -> None:
    assert [sentence.rule for sentence in compared(*BESIDE[rule])].count(rule) == 1


@pytest.mark.parametrize(("rule", "rows"), [(rule, rows) for rule, pairs in SILENT_BESIDE.items() for rows in pairs])
def test_a_rule_says_nothing_of_two_rows(rule: str, rows: tuple[Row, Row]) -> None:
    assert [sentence for sentence in compared(*rows) if sentence.rule == rule] == []


def test_the_other_way_round_it_has_moved_to_sram() -> None:
    said = compared(_interpreter(930, 187, 640), _interpreter(120, 100))
    assert "moved from flash to SRAM" in said[0].text
    assert "0.53x" in said[0].text


def _misses(**about: Any) -> str:
    counts = {"cache_misses": 10, "cache_accesses": 90}
    (text,) = _said("flash_misses", row({"code_miss": 51, "code_run": 49}, counts=counts, **about))
    return text


def test_misses_have_a_name_only_where_it_is_certain_and_a_place_only_where_one_stands_out() -> None:
    assert _misses(pages=_PAGES).endswith(
        "a message, 48 cycles each; 47 % of the misses in the 4 KiB of flash at 0x10042000"
    )
    spread = {f"0x100{page:02x}000": 10 for page in range(16)}
    nowhere = "; the misses are spread: no 4 KiB of flash has more than 6 % of them"
    assert _misses(pages=spread).endswith("48 cycles each" + nowhere)
    few = _LOOP.model_copy(update={"misses": 10})
    named = "48 cycles each; 6 % of the misses in `mp_execute_bytecode`, which this build runs from flash"
    assert _misses(pages=spread, functions=[few]).endswith(named + nowhere)
    assert "mp_execute_bytecode" not in _misses(pages=_PAGES, functions=[few])
    in_sram = _LOOP.model_copy(update={"address": "0x20004f20", "misses": 0})
    assert "mp_execute_bytecode" not in _misses(pages=_PAGES, functions=[in_sram])
    both = _misses(pages=_PAGES, functions=[_RECEIVE.model_copy(update={"misses": 700}), few, _LOOP])
    assert both.endswith("; 37 % of the misses in `tcp_receive`, which this build runs from flash")
    assert _misses().endswith("48 cycles each"), "a message alone does not tell their places"


def test_what_moved_is_named_with_the_map_s_lines() -> None:
    def rows(section: str) -> list[str]:
        then = _LOOP.model_copy(update={"address": "0x2000263c"})
        now = _LOOP.model_copy(update={"misses": 9, "section": section})
        stays = _RECEIVE
        one, other = _interpreter(120, 100), _interpreter(930, 187, 640)
        assert one.attribution is not None and other.attribution is not None
        one = one.model_copy(update={"attribution": one.attribution.model_copy(update={"functions": [then, stays]})})
        other = other.model_copy(
            update={"attribution": other.attribution.model_copy(update={"functions": [stays, now]})}
        )
        return [sentence.text for sentence in compared(one, other)]

    named = "; `mp_execute_bytecode` (0x2000263c -> 0x1001bfaa) runs from flash now; 0.15 flash cache accesses"
    (text,) = rows("")
    assert named in text
    (text,) = rows(".text.mp_execute_bytecode py/vm.c.obj")
    assert "runs from flash now, see '.text.mp_execute_bytecode py/vm.c.obj' in the linker map; 0.15" in text


def test_a_poll_is_not_blamed_on_intn_where_that_is_connected_or_not_known() -> None:
    for intn in (True, None):
        (text,) = _said("unread_until_poll", row({"wait_poll": 59_600, "code_run": 2600}, intn=intn))
        assert "INTn" not in text


def test_nor_where_the_driver_has_no_use_for_it() -> None:
    """WIZnet's own stack sleeps a millisecond between two looks, and has no argument for the pin."""
    of = row({"wait_poll": 760, "code_run": 2000}, intn=False).model_copy(update={"family": "wiznet"})
    assert _said("unread_until_poll", of) == [
        "a frame lies unread in the chip for 0.76 of 2.76 ms of a message, until a timer's poll"
    ]


def test_the_period_of_polls_is_not_guessed() -> None:
    """Spans that are further apart than a poll's wait can be do not tell how often the timer polls."""
    (text,) = _said("unread_until_poll", row({"wait_poll": 10_000, "code_run": 2600}, every_us=64_000))
    assert "every" not in text


def test_what_explains_most_comes_first_and_nothing_is_said_of_other_rows() -> None:
    both = row({"wait_poll": 600, "pc": 400 - 150, "spi_bits": 150}, spi_hz=1_000_000, intn=False)
    assert [sentence.rule for sentence in explained(both)] == ["unread_until_poll", "slow_spi"]
    plain = both.model_copy(update={"attribution": None})
    assert (explained(plain), compared(plain, both)) == ([], [])


def test_spans_of_several_kinds_are_one_run() -> None:
    two = row({"code_run": 100}, counts={"instructions": 5}, names=("a", "b"))
    assert _said("executing", two) == [
        "100 % of the time the interpreter and C code execute, and wait for nothing: 10 instructions a run"
    ]


def test_parts_of_an_image_without_names_are_told_by_their_place() -> None:
    names = {"mbedtls_mpi_ and mbedtls_ecp_ (between AES and GCM)": 900, "mbedtls_gcm_ (by its table)": 1}
    functions = [
        Function(name=name, address="0x10050000", bytes=900, misses=misses, known_by="image")
        for name, misses in names.items()
    ]
    one = row({"code_run": 1000}, names=_SHAKE, pages=_PAGES, functions=functions)
    (said,) = [each.text for each in explained(one) if each.rule == "handshake_code"]
    assert said.endswith(" bignum; by places in the image, as it does not name functions")


def test_each_name_of_mbedtls_is_of_its_kind() -> None:
    kinds = {
        "bignum": "mbedtls_mpi_a mbedtls_rsa_a mpi_a ecp_a mbedtls_ecp_a mbedtls_ecdh_a mbedtls_ecdsa_a",
        "hashing": "mbedtls_sha1 mbedtls_internal_sha1 mbedtls_md mbedtls_internal_md5 mbedtls_hmac",
        "the cipher": "mbedtls_aes_a mbedtls_gcm mbedtls_ccm mbedtls_chacha mbedtls_poly mbedtls_internal_aes gcm_a",
        "the certificates' format": "mbedtls_x509 mbedtls_asn1 mbedtls_pem mbedtls_oid mbedtls_base64 x509_a",
    }
    names = [*" ".join(kinds.values()).split(), "mbedtls_ssl_read", "mbedtls_ecjpake", "tcp_receive"]
    found = {kind: [name for name in names if pattern.match(name)] for kind, pattern in tls._KINDS.items()}
    assert found == {kind: of.split() for kind, of in kinds.items()}
