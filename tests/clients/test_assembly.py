"""A client's script and a workload's body become one: nothing of either is lost, changed or there twice."""

import ast
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.clients.assembly import assemble
from portbench.errors import PortbenchError

CLIENT = '''"""WORKLOAD_TITLE client."""

import json
import time

RESULT = {}


def get_ready(config):
    return config


def workload(sock, **settings):
    """The workload's body takes this place."""


def main():
    with open("portbench_config.json") as file:
        config = json.load(file)
    workload(get_ready(config), **config)


main()
'''
BOOTED = CLIENT.replace("workload(get_ready(config), **config)", "workload(**config)").replace("sock, ", "")
BODY = '''"""A body."""

import time
from array import array

from portbench_client import RESULT

SIZE = 3


def spin(sock, passes):
    RESULT["passes"] = passes
'''


def assembled(body: str, client: str = CLIENT, name: str = "spin", title: str = "Spinning") -> str:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "client.py").write_text(client, encoding="utf-8")
        Path(folder, "body.py").write_text(body, encoding="utf-8")
        return assemble(Path(folder, "client.py"), {}, Path(folder, "body.py"), name, title)


def test_the_whole_script() -> None:
    assert (
        assembled(BODY)
        == '''"""Spinning client."""

import json
import time

RESULT = {}


def get_ready(config):
    return config


from array import array
SIZE = 3


def spin(sock, passes):
    RESULT["passes"] = passes


def main():
    with open("portbench_config.json") as file:
        config = json.load(file)
    spin(get_ready(config), config["passes"])


main()
'''
    )


@pytest.mark.parametrize(
    ("parameters", "client", "call"),
    [
        ("sock", CLIENT, "spin(get_ready(config))"),
        ("sock, passes, size", CLIENT, 'spin(get_ready(config), config["passes"], config["size"])'),
        ("", BOOTED, "spin()"),
        ("passes", BOOTED, 'spin(config["passes"])'),
    ],
)
def test_the_call_hands_over_what_the_body_asks_for(parameters: str, client: str, call: str) -> None:
    script = assembled(f"def spin({parameters}):\n    pass\n", client)
    assert f"    {call}\n" in script and "**config" not in script


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("def spin(:\n", "body.py: cannot be read as Python (invalid syntax"),
        ("\0", "body.py: cannot be read as Python ("),
        ("", "body.py: has no function 'spin', which a board is to run; add it"),
        ("spin = print\n", "body.py: has no function 'spin'"),
        ("def spin(sock): pass\ndef main(): pass\n", "body.py: 'main' is a name of "),
        ("RETRY = json = 1\ndef spin(sock): pass\n", "body.py: 'json' is a name of "),
        ("from time import time\ndef spin(sock): pass\n", "body.py: 'time' is a name of "),
        ("RESULT = {}\ndef spin(sock): pass\n", "body.py: 'RESULT' is a name of "),
        (
            "from portbench_client import get_set\ndef spin(sock): pass\n",
            "body.py: imports get_set of the client; take",
        ),
        (
            "from portbench_client import RESULT as R\ndef spin(sock): pass\n",
            "body.py: imports RESULT as R of the client",
        ),
        (
            "import portbench_client\ndef spin(sock): pass\n",
            "body.py: imports portbench_client of the client; take names",
        ),
        ("def spin(sock): pass\nimport gc\n", "body.py: line 2: move this import before everything else"),
        ("A = 1\nfrom portbench_client import RESULT\ndef spin(sock): pass\n", "body.py: line 2: move this import"),
        ("import gc; A = 1\ndef spin(sock): pass\n", "body.py: line 1: move this import before everything else"),
    ],
)
def test_a_body_that_cannot_be_put_in_is_told_in_one_line(body: str, says: str) -> None:
    with pytest.raises(PortbenchError) as caught:
        assembled(body)
    assert says in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("client", "says"),
    [
        (CLIENT.replace("def workload", "def work"), "client.py: has no function 'workload'"),
        (CLIENT.replace("**config)", "config)"), "client.py: calls workload(..., **config) 0 times, not once"),
        (CLIENT + "workload(1, **config)\n", "client.py: calls workload(..., **config) 2 times, not once"),
    ],
)
def test_a_client_that_has_no_place_is_told_in_one_line(client: str, says: str) -> None:
    with pytest.raises(PortbenchError) as caught:
        assembled(BODY, client)
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(PortbenchError, match=r"^/.*/absent\.py: cannot be read as Python \(.*No such file"):
        assemble(tmp_path / "absent.py", {}, tmp_path / "body.py", "spin", "Spinning")


FRAME = CLIENT.replace(
    "def get_ready(config):\n    return config\n",
    'def get_ready(config):\n    """A part takes this place."""\n\n\ndef elapsed_us():\n    return 1\n',
)
PART = '''"""A part."""

import time

import network
from portbench_client import RESULT, elapsed_us

RETRY = (1, 2)


def get_ready(config):
    RESULT["ready_us"] = elapsed_us()
    return network.WLAN()
'''


def assembled_of(folder: Path, part: str, frame: str = FRAME) -> str:
    for name, text in (("client", frame), ("part", part), ("body", BODY)):
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return assemble(folder / "client.py", {"get_ready": folder / "part.py"}, folder / "body.py", "spin", "Spinning")


def test_a_part_takes_the_place_of_its_function(tmp_path: Path) -> None:
    script = assembled_of(tmp_path, PART)
    place = 'def get_ready(config):\n    """A part takes this place."""\n'
    before, found, after = assembled(BODY, FRAME).partition(place)
    assert found and script == before + "import network\n" + PART[PART.index("RETRY") :] + after


@pytest.mark.parametrize(
    ("part", "frame", "says"),
    [
        (PART.replace("get_ready", "ready"), FRAME, "part.py: has no function 'get_ready', which a board is to run"),
        (PART, FRAME.replace("def get_ready", "def ready"), "client.py: has no function 'get_ready'"),
        (PART.replace("RETRY", "main"), FRAME, "part.py: 'main' is a name of "),
        (PART.replace("elapsed_us", "passed_us"), FRAME, "part.py: imports passed_us of the client; take"),
        (PART.replace("RETRY", "SIZE"), FRAME, "body.py: 'SIZE' is a name of "),
    ],
)
def test_a_part_that_does_not_fit_is_told_in_one_line(part: str, frame: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(PortbenchError) as caught:
        assembled_of(tmp_path, part, frame)
    assert says in str(caught.value) and "\n" not in str(caught.value)


NAMES = ("spin", "helper", "Thing", "LIMIT", "table", "passes", "decorated")
TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\t\x0b\x0c\x85\u2028"), max_size=30)
COMMENTS = TEXT.map(lambda text: f"# {text}".replace("\x00", "") + "\n")
STRINGS = TEXT.map(repr)
IMPORTS = st.sampled_from(
    [
        "import time\n",
        "import json\n",
        "import gc\n",
        "import time, gc\n",
        "import os.path\n",
        "from array import array\n",
        "from struct import pack, unpack\n",
        "from struct import (\n    calcsize,\n    pack,  # both\n)\n",
        "from portbench_client import RESULT\n",
        "from portbench_client import RESULT, get_ready\n",
    ]
)
STATEMENTS = st.one_of(
    COMMENTS,
    st.just("\n"),
    STRINGS.map(lambda text: f"LIMIT = {text}\n"),
    STRINGS.map(lambda text: f'table = """\n{text}"""\n'.replace("\\", "")).filter(lambda text: _parses(text)),
    STRINGS.map(lambda text: f"def helper(a, *rest, b=1):\n    return {text}\n"),
    st.just("class Thing:\n    size = 3\n\n    def work(self):\n        import sys\n        return sys\n"),
    st.just("@print\n@print\ndef decorated():\n    pass\n"),
    st.just("try:\n    import lwip\nexcept ImportError:\n    lwip = None\n"),
    st.just("if LIMIT:\n    table = 1\n"),
)
DOCSTRINGS = st.just("") | TEXT.map(lambda text: f"{text!r}\n")
SETTINGS = st.lists(st.sampled_from(["passes", "size", "depth"]), unique=True, max_size=3)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@st.composite
def bodies(draw: st.DrawFn, handed: bool) -> tuple[str, list[str]]:
    """A body and the settings that it asks for."""
    settings = draw(SETTINGS)
    entry = f"def spin({', '.join([*(['sock'] if handed else []), *settings])}):\n    return LIMIT\n"
    code = [*draw(st.lists(STATEMENTS, max_size=5)), draw(st.sampled_from(["", "@print\n"])) + entry]
    code += draw(st.lists(STATEMENTS, max_size=4))
    text = (
        draw(DOCSTRINGS) + draw(st.just("") | COMMENTS) + "".join(draw(st.lists(IMPORTS, max_size=4))) + "".join(code)
    )
    return text if draw(st.booleans()) else text.rstrip("\n"), settings


@st.composite
def clients(draw: st.DrawFn, handed: bool) -> str:
    """A client that has a place and a call, and whatever else."""
    sock = "sock, " if handed else ""
    own = st.sampled_from(
        [
            "# a comment\n",
            "\n",
            "RETRY = (1, 2)\n",
            "def elapsed_us():\n    return 1\n",
            "try:\n    import network\nexcept ImportError:\n    network = None\n",
        ]
    )
    parts = [
        draw(st.sampled_from(['"""WORKLOAD_TITLE client."""\n', "'''WORKLOAD_TITLE client:\\u2028\n'''\n", ""])),
        *draw(st.lists(st.sampled_from(["import time\n", "import json\n", "from array import array\n"]), max_size=3)),
        "RESULT = {}\ndef get_ready(config):\n    return config\n",
        *draw(st.lists(own, max_size=4)),
        f"def workload({sock}**settings):\n    '''The place.'''\n\n\n",
        *draw(st.lists(own, max_size=4)),
        f"def main(config):\n    workload({'get_ready(config), ' if handed else ''}**config)\n",
    ]
    return "".join(parts)


def nodes(text: str) -> list[str]:
    """Top-level statements, without a docstring's place."""
    return [ast.dump(node) for node in ast.parse(text).body]


@given(st.data(), st.booleans())
def test_any_body_in_any_client(data: st.DataObject, handed: bool) -> None:
    """Statement by statement: the client's, with the body's missing imports and all its code in the place."""
    body, settings = data.draw(bodies(handed))
    client = data.draw(clients(handed))
    script = assembled(body, client)

    ours, theirs = ast.parse(client), ast.parse(body)
    call = ["get_ready(config)"] if handed else []
    call += [f'config["{setting}"]' for setting in settings]
    old_call = f"workload({'get_ready(config), ' if handed else ''}**config)"
    expected_client = nodes(client.replace(old_call, f"spin({', '.join(call)})").replace("WORKLOAD_TITLE", "Spinning"))
    place = next(index for index, node in enumerate(ours.body) if getattr(node, "name", "") == "workload")

    begin = 0 if ast.get_docstring(theirs) is None else 1
    imports = [node for node in theirs.body if isinstance(node, ast.Import | ast.ImportFrom)]
    known = {ast.dump(node) for node in ours.body}
    wanted = [node for node in imports if getattr(node, "module", None) != "portbench_client"]
    missing = [ast.dump(node) for node in wanted if ast.dump(node) not in known]
    code = [ast.dump(node) for node in theirs.body[begin:] if node not in imports]
    assert nodes(script) == [*expected_client[:place], *missing, *code, *expected_client[place + 1 :]]


def test_everything_said_about_a_body_stays_where_its_code_begins() -> None:
    """Comments between statements go with them, and a line is what the parser calls one."""
    body = '"""Two\x0clines\u2028of one."""\n\nimport gc\n\n# why\n@print\ndef spin(sock):\n    pass  # \x85 here\n'
    assert "import gc\n@print\ndef spin(sock):\n    pass  # \x85 here\n\n\ndef main" in assembled(body)
